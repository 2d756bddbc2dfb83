package llm

// Len returns the number of endpoints that failed last.
func (b *Breakers) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.down)
}
