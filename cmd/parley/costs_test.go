package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/text/texttest"
	"parley/test/needs"
)

// badBodies are malformed variants of a valid body.
func badBodies(good string) map[string]string {
	inside := strings.TrimSuffix(good, "}")
	const mib = 1 << 20
	return map[string]string{
		"a byte over the limit": good + strings.Repeat(" ", mib+1-len(good)),
		"depth 10,000":          inside + `,"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
		"open depth":            inside + `,"x":` + strings.Repeat(`{"a":`, 100_000),
		"1e6 messages":          inside + `,"x":[` + strings.Repeat(`{"role":"user","content":"q"},`, 1_000_000) + "0]}",
		"NaN":                   inside + `,"x":NaN}`,
		"duplicate keys":        inside + `,"x":1,"x":2}`,
		"invalid UTF-8":         inside + ",\"x\":\"\xff\"}",
		"two values":            good + good,
		"control character":     inside + ",\"x\":\"\n\"}",
		"cut off":               inside,
	}
}

// free are routes that ignore their body, so that only its size is checked.
var free = []string{"/link", "/chat/session", "/reset", "/cancel", "/retry", "/reindex", "/speech"}

func TestRoutes_RefuseBadBodiesForLittle(t *testing.T) {
	s := newWholeServer(t)
	for _, op := range s.api.operations(t, true) {
		for name, body := range badBodies(op.bodies[0]) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := s.send(t, op, body)
			runtime.ReadMemStats(&after)
			s.check(t, op, name, w)
			sized := name == "a byte over the limit" || name == "1e6 messages"
			ignored := slices.ContainsFunc(free, func(end string) bool { return strings.HasSuffix(strings.TrimSuffix(op.target, "/"), end) })
			switch want := []int{400, 413, 422}; {
			case ignored && !sized:
			case !slices.Contains(want, w.Code):
				t.Errorf("%s %s, %s: status %d, want one of %v: %.200s", op.method, op.target, name, w.Code, want, w.Body)
			}
			const fixed = 256 << 10 // overhead of any request
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(10*len(body)+fixed); got > most {
				t.Errorf("%s %s, %s: %d bytes allocated for a body of %d", op.method, op.target, name, got, len(body))
			}
			if needs.Race {
				continue // its time says nothing
			}
			if took := quickest(refusalTime(), func() { s.send(t, op, body) }); took > refusalTime() {
				t.Errorf("%s %s, %s takes %v of the processor, want at most %v", op.method, op.target, name, took, refusalTime())
			}
		}
	}
}

func BenchmarkRoutes_BadBodies(b *testing.B) {
	s := newWholeServer(b)
	for _, op := range s.api.operations(b, false) {
		for name, body := range badBodies(op.bodies[0]) {
			b.Run(op.target+"/"+name, func(b *testing.B) {
				for b.Loop() {
					s.send(b, op, body)
				}
			})
		}
	}
}

// oneOfEach is one word, token, number and nested value of a length in bytes, as JSON.
var oneOfEach = map[string]func(n int) string{
	"a word":         func(n int) string { return `"` + strings.Repeat("a", n) + `"` },
	"capitals":       func(n int) string { return `"` + strings.Repeat("DeDuCt", n/6) + `"` },
	"underscores":    func(n int) string { return `"` + strings.Repeat("ab_", n/3) + `"` },
	"a word apart":   func(n int) string { return `"` + strings.Repeat("费a", n/4) + `"` },
	"Cyrillic":       func(n int) string { return `"` + strings.Repeat("документ", n/16) + `"` },
	"closing":        func(n int) string { return `"a.` + strings.Repeat(")", n) + `"` },
	"brackets":       func(n int) string { return `"` + strings.Repeat("[", n) + `"` },
	"escapes":        func(n int) string { return `"` + strings.Repeat(`\u0041`, n/6) + `"` },
	"a number":       func(n int) string { return strings.Repeat("7", n) },
	"a number's end": func(n int) string { return "0." + strings.Repeat("7", n) },
	"a nested value": func(n int) string {
		return strings.Repeat("[", 50) + strings.Repeat(`"a",`, n/4) + `"a"` + strings.Repeat("]", 50)
	},
	"a list": func(n int) string { return "[" + strings.Repeat(`{"role":"user","content":"a"},`, n/30) + `{}]` },
}

// A field of the largest allowed size costs as little processor time as reading a few MiB of JSON,
// even with all stages of a turn on. At that cost its growth need not be measured, and the work
// ends soon after its client has left. For requests that wait, see test/hardening.
func TestRoutes_TakeTimeInProportionToEachField(t *testing.T) {
	needs.Long(t)
	if needs.Race {
		t.Skip("it measures processor time, of which the race detector takes most; it runs without it too")
	}
	s := newWholeServer(t)
	all := operation{http.MethodPost, "/chat", []string{`{"messages":[{"role":"user","content":"What is the deductible?"},{"role":"assistant","content":"$500"},
		{"role":"user","content":"Who pays it?"}],"context":{"overrides":{"retrieval_mode":"text","semantic_ranker":true,"semantic_captions":true,
		"suggest_followup_questions":true,"query_rewriting":true}}}`}}
	for _, op := range append(s.api.operations(t, false), all) {
		if strings.HasSuffix(op.target, "/sse") || strings.HasSuffix(op.target, "/stream") {
			continue // they pause between events, and read the same bodies as their neighbours
		}
		tried := map[string]bool{}
		for _, body := range op.bodies {
			fields := fieldsOf(decodeAny(t, body), "")
			for place, field := range fields {
				field = fmt.Sprint(field, count(fields[place:], field)) // the last message is the question, the others are history
				for name, value := range oneOfEach {
					if !slices.Contains(usual, name) && (tried[field] || !needs.All()) {
						continue
					}
					s.growth(t, op, name, 30<<10, func(n int) string { return replaced(t, body, place, value(n)) })
				}
				if tried[field] {
					continue // in another example of a body
				}
				tried[field] = true
				for _, name := range []string{"a word", "a nested value"} {
					s.growth(t, op, name, 1000<<10, func(n int) string { return replaced(t, body, place, oneOfEach[name](n)) })
				}
			}
		}
	}
}

// count returns the number of elements that equal v.
func count(all []string, v string) (n int) {
	for _, s := range all {
		if s == v {
			n++
		}
	}
	return n
}

// usual are the values that are tried in every field of every example; the others take minutes.
var usual = []string{"underscores", "a word apart", "brackets"}

// refusalTime is the processor time in which a bad body is refused: 50 ms, or on a slower machine as long as it takes to
// validate 1 MiB of JSON twenty times. That is five times what any refusal takes, so that a busy machine does not matter.
var refusalTime = sync.OnceValue(func() time.Duration {
	document := []byte("[" + strings.Repeat(`{"role":"user","content":"A question of some words?"},`, 20_000) + "{}]")
	return max(50*time.Millisecond, 20*fastest(10, func() { json.Valid(document) }))
})

// quickest returns the least processor time that the process takes while f runs, of five times or up to one that is
// within most.
func quickest(most time.Duration, f func()) time.Duration {
	best := fastest(1, f)
	for range 4 {
		if best <= most {
			break
		}
		best = min(best, fastest(1, f))
	}
	return best
}

// longest is the limit for the processor time of a request: 50 ms, or the time for reading five
// documents of a MiB on a slower machine.
var longest = sync.OnceValue(func() time.Duration {
	document := []byte("[" + strings.Repeat(`{"role":"user","content":"A question of some words?"},`, 20_000) + "{}]")
	return max(50*time.Millisecond, fastest(5, func() {
		for range 5 {
			var v any
			_ = json.Unmarshal(document, &v)
		}
	}))
})

// growth fails when a field of size bytes takes more than three times longest, or more than 300 ms of which more than its
// share is due to its size.
func (s *wholeServer) growth(t *testing.T, op operation, name string, size int, body func(n int) string) {
	t.Helper()
	whole := body(size)
	start := texttest.ProcessTime()
	w := s.send(t, op, whole)
	took := texttest.ProcessTime() - start
	s.check(t, op, name, w)
	// On a busy machine, processor time varies by a factor of two.
	most, small := 3*longest(), 300*time.Millisecond
	if took <= min(most, small) {
		return
	}
	if strings.HasSuffix(op.target, "/embeddings") {
		fixed := s.embedding(t, op) // an embedding takes the same time for each text that is long enough
		most, small = most+fixed, small+fixed
		if took <= min(most, small) {
			return
		}
	}
	part := body(size / 4)
	one := fastest(3, func() { s.send(t, op, part) })
	if took <= most && took <= 8*one {
		return
	}
	four := fastest(5, func() { s.send(t, op, whole) })
	if four > most || four > small && four > 8*one {
		t.Errorf("%s %s, %s: a field of %d bytes takes %v, over %v; one of %d bytes %v: %.100s",
			op.method, op.target, name, size, four, longest(), size/4, one, whole)
	}
}

// embedding returns the processor time for one text of 512 tokens, which is all that the embedding model reads.
func (s *wholeServer) embedding(t *testing.T, op operation) time.Duration {
	if s.embeds == 0 {
		body := `{"model":"builtin:multilingual-e5-small","input":"` + strings.Repeat("a", 2000) + `"}`
		s.embeds = fastest(3, func() {
			if w := s.send(t, op, body); w.Code != http.StatusOK {
				t.Fatalf("%s %s: %d %s", op.method, op.target, w.Code, w.Body)
			}
		})
	}
	return s.embeds
}

// fastest returns the least processor time of n runs of f.
func fastest(n int, f func()) time.Duration {
	var best time.Duration
	for i := range n {
		start := texttest.ProcessTime()
		f()
		if took := texttest.ProcessTime() - start; i == 0 || took < best {
			best = took
		}
	}
	return best
}
