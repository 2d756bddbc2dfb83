package chat

import (
	"testing"
	"time"
)

func TestSummaries_ForgetThoseUsedLongestAgo(t *testing.T) {
	now := time.Now()
	s := newSummaries(2)
	s.now = func() time.Time { return now }
	a, b, c := summaryKey{1}, summaryKey{2}, summaryKey{3}
	s.put(a, "a")
	s.put(b, "b")
	if text, n := s.longest([]summaryKey{a, c}); text != "a" || n != 1 {
		t.Errorf("%q of %d messages", text, n)
	}
	s.put(c, "c")
	if _, n := s.longest([]summaryKey{b}); n != 0 {
		t.Error("the one used longest ago is there")
	}
	if text, n := s.longest([]summaryKey{a, c}); text != "c" || n != 2 {
		t.Errorf("%q of %d messages", text, n)
	}
	s.put(c, "new")
	if text, _ := s.longest([]summaryKey{c}); text != "new" {
		t.Errorf("%q", text)
	}
	now = now.Add(61 * time.Minute)
	if _, n := s.longest([]summaryKey{a, c}); n != 0 {
		t.Error("an old one is found")
	}
	s.put(b, "b")
	for _, old := range []summaryKey{a, c} {
		if _, ok := s.kept.Get(old); ok {
			t.Error("an old one is kept")
		}
	}
}
