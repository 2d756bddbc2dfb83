package builtin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/text"
	"parley/test/needs"
)

// writer makes random passages out of everything that documents hold.
type writer struct {
	*rand.Rand
	headings []string // those it has written
}

var vocabulary = strings.Fields(`premium dental plan covers employee garden lighthouse harbour contract notice month
	deductible insurer claim doctor travel kit rope torch archive server token passage index answer river bridge
	Basel Lisbon Northwind winter morning office paper engine valve pressure crown filling vision therapy`)

func (w *writer) pick(words []string) string { return words[w.IntN(len(words))] }

func (w *writer) words(n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = w.pick(vocabulary)
	}
	return strings.Join(s, w.pick([]string{" ", " ", " ", "\n"}))
}

func (w *writer) han(n int) string {
	runes := []rune("保险费每月二十元办公室花园午餐医生合同通知期灯塔港口北方文件页码")
	s := make([]rune, n)
	for i := range s {
		s[i] = runes[w.IntN(len(runes))]
	}
	return string(s)
}

func (w *writer) sentence() string {
	switch w.IntN(12) {
	case 0:
		return w.han(4+w.IntN(20)) + "。"
	case 1:
		return "يغطي التأمين " + w.pick([]string{"علاج الأسنان", "زيارة الطبيب"}) + " كل شهر."
	case 2:
		return "Die Prämie für " + w.words(3) + " beträgt zwölf Euro."
	case 3:
		return "Does the " + w.words(4) + "?"
	case 4:
		return "Yes."
	case 5:
		return "This " + w.words(3) + " (see [" + w.pick([]string{"1", "sic", "b.pdf#page=2", "c.md"}) + "]) is " + w.words(2) + "."
	default:
		return "The " + w.words(3+w.IntN(12)) + " is " + w.words(1+w.IntN(4)) + "."
	}
}

func (w *writer) block() string {
	switch w.IntN(10) {
	case 0:
		h := w.pick([]string{"About the ", "Chapter on ", "Our "}) + strings.ReplaceAll(w.words(1+w.IntN(4)), "\n", " ")
		w.headings = append(w.headings, h)
		return h
	case 1:
		list := "The " + w.words(3) + " holds:"
		for range 1 + w.IntN(6) {
			list += w.pick([]string{"\n• ", "\n- ", "\n1. "}) + w.words(1+w.IntN(6))
		}
		return list
	case 2:
		var rows []string
		for range 1 + w.IntN(5) {
			rows = append(rows, "plan: "+w.pick(vocabulary)+"; premium: "+fmt.Sprint(w.IntN(500))+"; "+w.words(2))
		}
		return strings.Join(rows, "\n")
	case 3:
		return "func " + w.pick(vocabulary) + "(x int) {\n\treturn x[" + w.pick(vocabulary) + "]\n}"
	case 4:
		return w.words(90 + w.IntN(60)) // a sentence without an end
	default:
		var s []string
		for range 1 + w.IntN(5) {
			s = append(s, w.sentence())
		}
		return strings.Join(s, w.pick([]string{" ", "\n"}))
	}
}

// passage returns a passage that goes over up to four pages.
func (w *writer) passage(name string) llm.Passage {
	var blocks []string
	for range 1 + w.IntN(8) {
		blocks = append(blocks, w.block())
	}
	p := llm.Passage{Text: strings.Join(blocks, "\n\n"), Score: w.Float64(), Title: name}
	if w.IntN(2) == 0 {
		p.Headings = append(p.Headings, w.headings...)
	}
	page, offset := 1+w.IntN(9), 0
	for range 1 + w.IntN(4) {
		p.Marks = append(p.Marks, llm.Mark{Offset: offset, Citation: fmt.Sprintf("%s#page=%d", name, page)})
		page++
		for offset += 1 + w.IntN(len(p.Text)); offset < len(p.Text) && !utf8.RuneStart(p.Text[offset]); {
			offset++
		}
		if offset >= len(p.Text) {
			break
		}
	}
	return p
}

// evidence returns passages and a question in words of theirs.
func (w *writer) evidence() *llm.Evidence {
	ev := &llm.Evidence{}
	for i := range 1 + w.IntN(6) {
		ev.Passages = append(ev.Passages, w.passage(string(rune('a'+i))+".pdf"))
	}
	terms := text.Terms(ev.Passages[w.IntN(len(ev.Passages))].Text)
	seen := make(map[string]bool)
	for range 1 + w.IntN(6) {
		if len(terms) == 0 {
			break
		}
		term := w.pick(terms)
		if seen[term] {
			continue
		}
		seen[term] = true
		ev.Terms = append(ev.Terms, llm.Term{
			Text: term, Word: term, Weight: []float64{1, 1, 0.45}[w.IntN(3)], IDF: 0.5 + 5*w.Float64(), Known: w.IntN(8) > 0,
		})
		ev.Query += term + " "
	}
	return ev
}

// stands reports whether a quote is a span of a passage that begins on the cited page.
func stands(q quote, ev *llm.Evidence) bool {
	for _, p := range ev.Passages {
		flat := strings.ReplaceAll(p.Text, "\n", " ")
		for from := 0; ; {
			at := strings.Index(flat[from:], q.text)
			if at < 0 {
				break
			}
			if p.CitationAt(from+at) == q.citation {
				return true
			}
			from += at + 1
		}
	}
	return false
}

func TestAnswer_IsMadeOfQuotesWithinItsLimits(t *testing.T) {
	needs.Long(t)
	answered, several := 0, 0
	rounds := 3000
	if needs.Race || testing.Short() {
		rounds = 300
	}
	for seed := range rounds {
		w := &writer{Rand: rand.New(rand.NewPCG(uint64(seed), 2))}
		ev := w.evidence()
		a := answer(t, ev)
		if isRefusal(a.text) {
			continue
		}
		answered++
		if len(a.quotes) > 1 {
			several++
		}
		size := 0
		pages := make(map[string]bool)
		for _, q := range a.quotes {
			if !stands(q, ev) {
				t.Errorf("seed %d: %q is not on %q", seed, q.text, q.citation)
			}
			if slices.Contains(w.headings, q.text) {
				t.Errorf("seed %d: the heading %q is quoted", seed, q.text)
			}
			if strings.Contains(q.text, ".pdf#") || strings.Contains(q.text, "c.md") {
				t.Errorf("seed %d: %q holds a citation of its own", seed, q.text)
			}
			size += len(q.text)
			pages[q.citation] = true
		}
		if len(a.quotes) > brief.sentences || size > brief.bytes || len(pages) > brief.pages {
			t.Errorf("seed %d: %d quotes with %d bytes of %d pages", seed, len(a.quotes), size, len(pages))
		}
		if diff := cmp.Diff(a.chunks, answer(t, ev).chunks); diff != "" {
			t.Errorf("seed %d: answers differ: %s", seed, diff)
		}
		if t.Failed() {
			t.Fatalf("evidence: %+v", ev)
		}
	}
	t.Logf("%d of %d answered, %d with several quotes", answered, rounds, several)
	if answered < rounds/2 || several < rounds/10 {
		t.Errorf("only %d of %d were answered, %d with several quotes: the test says little", answered, rounds, several)
	}
}
