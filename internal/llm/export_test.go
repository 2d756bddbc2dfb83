package llm

// Len returns the number of endpoints that failed last.
func (b *Breakers) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.down)
}

// Wrapped returns the number of wrapped models that are kept.
func (r *Router) Wrapped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wrapped)
}
