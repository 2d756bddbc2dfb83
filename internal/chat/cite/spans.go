package cite

import (
	"slices"
	"sort"
	"strings"

	"parley/internal/retrieval"
	"parley/internal/text"
)

// The limits of cited spans.
const (
	maxSpans      = 20  // of one citation
	maxQuote      = 600 // bytes
	maxSentence   = 400 // bytes; of a longer sentence on a page, only the part from its first to its last cited word is shown
	minSpanShare  = 0.3 // minimum share of the sentence's words that a span must contain
	minSpanGain   = 0.2 // minimum share that one more sentence must add
	maxSpanWindow = 3   // sentences
	numberWeight  = 2   // weight of a number, relative to a word
)

// locate sets the Spans of each citation: the part of its page that supports the sentence with the
// citation. A copied sentence is located word for word, any other sentence where most of its words are.
func locate(cited []Citation, answer string, known Known, passages []retrieval.Passage, doubts []Doubt) {
	if len(cited) == 0 {
		return
	}
	plain, marks := withoutCitations(answer, known)
	f := locator{plain: plain, passages: passages}
	seen := map[string]int{}
	for i, m := range marks {
		occurrence := seen[m.label]
		seen[m.label]++
		at := slices.IndexFunc(cited, func(c Citation) bool { return c.Label == m.label })
		if at < 0 || len(cited[at].Spans) == maxSpans {
			continue
		}
		span := f.find(marks, i, cited[at])
		span.Occurrence = occurrence
		span.Doubted = f.doubted(m, doubts)
		cited[at].Spans = append(cited[at].Spans, span)
	}
}

// locator finds the words of the passages that the sentences of one answer are based on.
type locator struct {
	plain     string // the answer without its citations
	passages  []retrieval.Passage
	sentences []text.Span          // of plain, computed on first use
	words     map[int]passageWords // by index of the passage, analysed on first use
}

// passageWords is a passage, analysed for comparison.
type passageWords struct {
	tokens    []text.Token
	sentences []text.Span
}

func (f *locator) split() []text.Span {
	if f.sentences == nil {
		f.sentences = sentencesOf(f.plain)
	}
	return f.sentences
}

// doubted reports whether one of the doubts is about the support for a citation.
func (f *locator) doubted(m citationMark, doubts []Doubt) bool {
	for _, d := range doubts {
		if d.Kind != Unsupported || d.Label != m.label {
			continue
		}
		i := carrier(f.plain, f.split(), m.at)
		if i >= 0 && d.Sentence == snippet(itemMark.ReplaceAllString(f.plain[f.sentences[i].Start:f.sentences[i].End], "")) {
			return true
		}
	}
	return false
}

// find returns the cited words of the citation at marks[i].
func (f *locator) find(marks []citationMark, i int, c Citation) Span {
	first := i // becomes the first of the run of citations after one sentence
	for first > 0 && f.adjoin(marks, first-1) {
		first--
	}
	from := 0
	if first > 0 {
		from = marks[first-1].at
	}
	if span, ok := f.verbatim(strings.TrimSpace(f.plain[from:marks[i].at]), c); ok {
		return span
	}
	k := carrier(f.plain, f.split(), marks[i].at)
	if k < 0 {
		return Span{}
	}
	s := f.sentences[k]
	sentence := itemMark.ReplaceAllString(f.plain[s.Start:s.End], "")
	if span, ok := f.verbatim(sentence, c); ok {
		return span
	}
	least := minSpanShare
	if first < i || i+1 < len(marks) && f.adjoin(marks, i) {
		least = minPart // each page may support a part of the sentence
	}
	best := f.closest(sentence, c, least)
	if best.End == 0 {
		best = f.closest(preceding(f.plain, f.sentences, 0, k), c, least)
	}
	return best
}

// adjoin reports whether there is no text between marks i and i+1.
func (f *locator) adjoin(marks []citationMark, i int) bool {
	return strings.Trim(f.plain[marks[i].at:marks[i+1].at], " ,;") == ""
}

// verbatim finds a text that was copied word for word. Line breaks count as spaces.
func (f *locator) verbatim(said string, c Citation) (Span, bool) {
	const least = 12 // bytes; shorter texts may occur anywhere
	if len(said) < least {
		return Span{}, false
	}
	said = strings.ReplaceAll(said, "\n", " ")
	for i := range f.passages {
		p := &f.passages[i]
		if p.Document.ID != c.DocumentID || p.Document.Name != c.Name {
			continue
		}
		body := strings.ReplaceAll(p.Chunk.Text, "\n", " ")
		at := strings.Index(body, said)
		if at < 0 {
			continue
		}
		if span, ok := onPage(p.Chunk, c.Page, at, at+len(said)); ok {
			return span, true
		}
	}
	return Span{}, false
}

// onPage returns the part of a chunk's text that is on a page.
func onPage(chunk retrieval.Chunk, page, start, end int) (Span, bool) {
	for _, s := range chunk.Spans {
		from, to := max(start, s.Offset), min(end, s.Offset+s.End-s.Start)
		if s.Page == page && from < to {
			return Span{
				Start: s.Start + from - s.Offset, End: s.Start + to - s.Offset, Quote: quoteOf(chunk.Text[from:to]),
			}, true
		}
	}
	return Span{}, false
}

func quoteOf(s string) string {
	if len(s) <= maxQuote {
		return s
	}
	cut := maxQuote
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut]
}

// closest finds the sentences of the cited page that contain the largest share of a sentence's words. It returns
// a zero Span if that share is below least.
func (f *locator) closest(sentence string, c Citation, least float64) Span {
	wanted := weightsOf(sentence)
	var best Span
	bestShare := 0.0
	for i := range f.passages {
		p := &f.passages[i]
		if p.Document.ID != c.DocumentID || p.Document.Name != c.Name || len(wanted) == 0 {
			continue
		}
		for _, s := range p.Chunk.Spans {
			if s.Page != c.Page {
				continue
			}
			start, end, share := f.window(i, wanted, s.Offset, s.Offset+s.End-s.Start)
			if share > bestShare {
				if span, ok := onPage(p.Chunk, c.Page, start, end); ok {
					best, bestShare = span, share
				}
			}
		}
	}
	if bestShare < least {
		return Span{}
	}
	return best
}

// weightsOf returns the weights of the terms of a sentence, without function words.
func weightsOf(sentence string) map[string]float64 {
	wanted := map[string]float64{}
	for _, tok := range text.Analyze(sentence) {
		if tok.Stop {
			continue
		}
		wanted[tok.Term] = 1
		if _, ok := numberOf(tok.Term); ok {
			wanted[tok.Term] = numberWeight
		}
	}
	return wanted
}

// window returns the run of up to maxSpanWindow sentences between from and to in a passage that contains the
// largest share of the wanted terms.
func (f *locator) window(passage int, wanted map[string]float64, from, to int) (start, end int, share float64) {
	w := f.analyzed(passage)
	total := 0.0
	for _, weight := range wanted {
		total += weight
	}
	for i, first := range w.sentences {
		if first.End <= from || first.Start >= to {
			continue
		}
		reached := 0.0
		for n := range maxSpanWindow {
			if i+n >= len(w.sentences) || w.sentences[i+n].Start >= to {
				break
			}
			a, b, held := w.held(wanted, max(first.Start, from), min(w.sentences[i+n].End, to))
			held /= total
			// Each sentence of a window must contribute.
			if n > 0 && (held < reached+minSpanGain || reached < minSpanGain) {
				break
			}
			if reached = held; held > share || held == share && b-a < end-start {
				start, end, share = a, b, held
			}
		}
	}
	return start, end, share
}

// held returns the total weight of the wanted terms that a part of the passage contains, and where they are:
// in the whole part, or, if it is long, from its first to its last wanted word.
func (w passageWords) held(wanted map[string]float64, from, to int) (start, end int, sum float64) {
	found := map[string]bool{}
	first, last := -1, -1
	begin := sort.Search(len(w.tokens), func(i int) bool { return w.tokens[i].Start >= from })
	for _, tok := range w.tokens[begin:] {
		if tok.Start >= to {
			break
		}
		if tok.End > to || wanted[tok.Term] == 0 {
			continue
		}
		if first < 0 {
			first = tok.Start
		}
		last = max(last, tok.End)
		if !found[tok.Term] {
			found[tok.Term] = true
			sum += wanted[tok.Term]
		}
	}
	if first >= 0 && to-from > maxSentence {
		return first, last, sum
	}
	return from, to, sum
}

func (f *locator) analyzed(passage int) passageWords {
	if w, ok := f.words[passage]; ok {
		return w
	}
	if f.words == nil {
		f.words = map[int]passageWords{}
	}
	body := f.passages[passage].Chunk.Text
	w := passageWords{tokens: text.Analyze(body), sentences: linesOf(body, text.Sentences(body))}
	f.words[passage] = w
	return w
}

// linesOf splits sentences at line ends. Only table rows and list items have line ends, because extraction
// joins the lines of prose.
func linesOf(body string, sentences []text.Span) []text.Span {
	var out []text.Span
	for _, s := range sentences {
		for s.Start < s.End {
			end := s.End
			if n := strings.IndexByte(body[s.Start:s.End], '\n'); n >= 0 {
				end = s.Start + n
			}
			if sp, ok := text.Trim(body, s.Start, end); ok {
				out = append(out, sp)
			}
			s.Start = end + 1
		}
	}
	return out
}
