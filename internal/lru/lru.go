// Package lru provides a cache that drops the values that have not been used for longest.
//
//	c := lru.New[string, []byte](16<<20, func(key string, b []byte) int { return len(key) + len(b) })
//	c.Put("a", data)
//	data, ok := c.Get("a")
package lru

import (
	"container/list"
	"sync"
)

// Cache maps keys to values. The sum of their sizes stays within a limit, except that the newest value
// is kept whatever its size. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit  int
	sizeOf func(K, V) int

	mu     sync.Mutex
	byKey  map[K]*list.Element
	recent list.List // of entry[K, V], the most recently used one in front
	size   int
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty cache. A nil sizeOf counts entries.
func New[K comparable, V any](limit int, sizeOf func(K, V) int) *Cache[K, V] {
	if sizeOf == nil {
		sizeOf = func(K, V) int { return 1 }
	}
	return &Cache[K, V]{limit: limit, sizeOf: sizeOf, byKey: map[K]*list.Element{}}
}

// Get returns the value of a key, and makes it the most recently used one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Put sets the value of a key, and drops the values that no longer fit.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	c.byKey[key] = c.recent.PushFront(entry[K, V]{key, value})
	c.size += c.sizeOf(key, value)
	for c.size > c.limit && c.recent.Len() > 1 {
		c.drop(c.recent.Back())
	}
}

// DropWhile drops values, the least recently used first, until stale returns false.
func (c *Cache[K, V]) DropWhile(stale func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Back(); e != nil && stale(e.Value.(entry[K, V]).value); e = c.recent.Back() {
		c.drop(e)
	}
}

// drop removes an element. The caller must hold c.mu.
func (c *Cache[K, V]) drop(e *list.Element) {
	old := c.recent.Remove(e).(entry[K, V])
	delete(c.byKey, old.key)
	c.size -= c.sizeOf(old.key, old.value)
}
