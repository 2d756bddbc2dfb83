package lru_test

import (
	"math/rand/v2"
	"testing"

	"parley/internal/lru"
)

func TestCache_DropsWhatWasNotUsedForLongest(t *testing.T) {
	c := lru.New[string, int](2, nil)
	c.Put("a", 1)
	c.Put("b", 2)
	c.Get("a")
	c.Put("c", 3)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is kept: %v, want %v", key, ok, want)
		}
	}
}

func TestCache_KeepsSizesWithinTheLimit(t *testing.T) {
	const limit = 100
	c := lru.New(limit, func(_, size int) int { return size })
	last := map[int]int{}
	for range 10_000 {
		key, size := rand.IntN(20), 1+rand.IntN(40)
		c.Put(key, size)
		last[key] = size
		sum := 0
		for key := range 20 {
			if got, ok := c.Get(key); ok {
				sum += got
				if got != last[key] {
					t.Fatalf("key %d has %d, want %d", key, got, last[key])
				}
			}
		}
		if sum > limit {
			t.Fatalf("the cache holds %d, and its limit is %d", sum, limit)
		}
	}
}

func TestCache_KeepsTheNewestHoweverLarge(t *testing.T) {
	c := lru.New(10, func(_ string, size int) int { return size })
	c.Put("small", 1)
	c.Put("large", 11)
	if _, ok := c.Get("large"); !ok {
		t.Error("the newest value is gone")
	}
	if _, ok := c.Get("small"); ok {
		t.Error("the older value is kept beyond the limit")
	}
}

func TestCache_DropsTheStale(t *testing.T) {
	c := lru.New[string, int](10, nil)
	for i, key := range []string{"a", "b", "c"} {
		c.Put(key, i)
	}
	c.DropWhile(func(i int) bool { return i < 2 })
	if _, ok := c.Get("b"); ok {
		t.Error("b is kept")
	}
	if _, ok := c.Get("c"); !ok {
		t.Error("c is gone")
	}
}
