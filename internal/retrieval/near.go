package retrieval

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"parley/internal/lexical"
	"parley/internal/text"
	"parley/internal/thesaurus"
)

// The weights that distinguish pages of a document with the same words, relative to the score of the search;
// docs/measurements.md has their effect on reports.
const (
	looked      = 60  // chunks that are looked at
	lookedOne   = 250 // the same for a question of one word that many chunks hold: "What is Parley?"
	commonIDF   = 1   // of a word that stands in every third chunk
	nearWeight  = 0.3 // all neighbours in the question are neighbours in the chunk
	headWeight  = 0.5 // a heading of the page has the question's words, and no other page has such a heading
	titleWeight = 1.0 // a heading of the chunk consists of the question, or of its only word
	reversed    = 0.8 // weight of neighbours in reverse order
	maxDistance = 40  // words; a greater distance counts as far
	headLines   = 8   // lines at the beginning of a chunk that may be headings
	maxHeading  = 100 // bytes of such a line
)

// wording is the information about a question that a search over an index does not use: the order of its words.
type wording struct {
	words []string // its terms in their order
	idf   []float64
	at    map[string]int // index of a term or of another form of it
	rows  [][]string     // the words of the question and those of phrases of like meaning
}

func newWording(q Query, terms []Term) *wording {
	w := &wording{at: make(map[string]int)}
	for _, t := range terms {
		switch {
		case t.Like:
		case t.Other && len(w.words) > 0:
			w.at[t.Text] = len(w.words) - 1
		case t.Weight > contextBound:
			w.at[t.Text] = len(w.words)
			w.words, w.idf = append(w.words, t.Text), append(w.idf, t.IDF)
		}
	}
	opening := beginning(q.Text)
	asked, _ := text.AnalyzeQuestion(opening)
	w.rows = append(w.rows, inRow(asked))
	for _, phrase := range thesaurus.Phrases(text.LanguageOf(opening), opening) {
		w.rows = append(w.rows, inRow(text.Analyze(phrase)))
	}
	return w
}

// inRow returns the words that carry meaning, in their order.
func inRow(tokens []text.Token) (words []string) {
	for i := 0; i < len(tokens); i++ {
		if !tokens[i].Stop {
			words = append(words, tokens[i].Term)
		}
		i += tokens[i].Parts
	}
	return words
}

// near returns, in [0, 1], how close together the words of the question stand in a text. Two words that both name its document
// stand together all over it and do not count.
func (w *wording) near(s string, own map[string]bool) float64 {
	if len(w.words) < 2 {
		return 0
	}
	places, weights := make([][]int, len(w.words)), make([]float64, len(w.words)-1)
	for n, t := range text.Analyze(s) {
		if i, ok := w.at[t.Term]; ok {
			places[i] = append(places[i], n)
		}
	}
	for i := range weights {
		if !own[w.words[i]] || !own[w.words[i+1]] {
			weights[i] = min(w.idf[i], w.idf[i+1])
		}
	}
	return Nearness(places, weights)
}

// Nearness returns, in [0, 1], how close each word of a list stands to the next one where they are closest.
// places has the ascending places of each word, and weights[i] the weight of the pair of word i and the next
// one.
func Nearness(places [][]int, weights []float64) float64 {
	near, all := 0.0, 0.0
	for i, weight := range weights {
		all += weight
		near += weight * nearest(places[i], places[i+1])
	}
	if all == 0 {
		return 0
	}
	return near / all
}

// nearest returns 1 over the least distance between a place in a and one in b, 0 if they are all far apart. Both ascend, so only
// the last place before each has to be considered.
func nearest(a, b []int) float64 {
	best := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		distance, share := b[j]-a[i], 1.0
		if distance < 0 {
			distance, share = -distance, reversed
		}
		if distance <= maxDistance {
			best = max(best, share/float64(max(distance, 1)))
		}
		if a[i] < b[j] {
			i++
		} else {
			j++
		}
	}
	return best
}

// named returns the words of a heading that also stand in a row in the question, at least two, and their share of the heading
// without the words that name the document. It returns "" for none.
func (w *wording) named(heading string, own map[string]bool) (phrase string, share float64) {
	words := slices.DeleteFunc(inRow(text.Analyze(heading)), func(s string) bool {
		return own[s] || !strings.ContainsFunc(s, unicode.IsLetter)
	})
	most, from := 1, 0
	for _, row := range w.rows {
		for i := range words {
			for j := range row {
				n := 0
				for i+n < len(words) && j+n < len(row) && words[i+n] == row[j+n] {
					n++
				}
				if n > most {
					most, from = n, i
				}
			}
		}
	}
	if most < 2 {
		return "", 0
	}
	return strings.Join(words[from:from+most], " "), float64(most) / float64(len(words))
}

// headings adds the phrases that the question names in the headings of a passage: in its own heading, and in short lines at its
// beginning, since titles of pages are not always marked as headings.
func (w *wording) headings(p *Passage, own map[string]bool, found map[string]float64) {
	add := func(heading string) {
		if phrase, share := w.named(heading, own); phrase != "" {
			found[phrase] = max(found[phrase], share)
		}
	}
	if n := len(p.Chunk.Headings); n > 0 {
		add(p.Chunk.Headings[n-1])
	}
	n := 0
	for line := range strings.Lines(p.Chunk.Text) {
		if n++; n > headLines {
			break
		}
		if len(line) <= maxHeading && !strings.Contains(line, "|") {
			add(line)
		}
	}
}

// depth returns the least number of chunks to rank for a question.
func depth(q Query) int {
	if asked, _ := text.AnalyzeQuestion(beginning(q.Text)); len(inRow(asked)) == 1 {
		return lookedOne
	}
	return looked
}

// asksCommon reports whether the question is one word that stands in every third chunk, so that counting words cannot tell the
// chunks apart. Looking for headings at every short question would double the time of a search.
func (w *wording) asksCommon() bool { return len(w.words) == 1 && w.idf[0] < commonIDF }

// isTitle reports whether a line of a chunk that stands alone, or the heading that the chunk stands under, has the words of the
// question and no others: "Tides" or "What are tides?" for "What are tides?"
func (w *wording) isTitle(c *Chunk) bool {
	if n := len(c.Headings); n > 0 && w.isAsked(c.Headings[n-1]) {
		return true
	}
	for paragraph := range strings.SplitSeq(c.Text, "\n\n") {
		if len(paragraph) <= maxHeading && !strings.Contains(paragraph, "\n") && w.isAsked(paragraph) {
			return true
		}
	}
	return false
}

// isAsked reports whether a line has the words of the question and no others.
func (w *wording) isAsked(line string) bool {
	seen := make([]bool, len(w.words))
	for _, t := range text.Analyze(line) {
		if i, ok := w.at[t.Term]; ok {
			seen[i] = true
		} else if !t.Stop {
			return false
		}
	}
	return !slices.Contains(seen, false)
}

// ownWords returns the words that name a passage's document.
func ownWords(p *Passage) map[string]bool {
	own := make(map[string]bool)
	for _, s := range namesOf(p.Document) {
		for _, t := range text.Terms(s) {
			own[t] = true
		}
	}
	return own
}

// leaf is a page of a revision.
type leaf struct {
	revision int64
	page     int
}

func leafOf(c candidate) leaf { return leaf{c.key.Revision, c.page} }

// reorder ranks candidates anew by the text of their passages, and changes only their order and their ranks. In documents with
// pages, two things count: headings that have a part of the question, and how close together its words stand. A heading counts
// for all chunks of its page; it counts less the more pages have such a heading, and the less the question names its document.
func (w *wording) reorder(about lexical.Subjects, found []candidate, passages map[ChunkKey]*Passage) {
	heads, near := make(map[leaf]map[string]float64), make([]float64, len(found))
	common := w.asksCommon()
	for i, c := range found {
		p := passages[c.key]
		if p == nil {
			continue
		}
		if common && w.isTitle(&p.Chunk) {
			found[i].rank *= 1 + titleWeight
		}
		if c.page == 0 {
			continue
		}
		own, at := ownWords(p), leafOf(c)
		if heads[at] == nil {
			heads[at] = make(map[string]float64)
		}
		w.headings(p, own, heads[at])
		near[i] = w.near(p.Chunk.Text, own)
	}
	pages := make(map[string]int) // that have a phrase in their headings
	for _, phrases := range heads {
		for phrase := range phrases {
			pages[phrase]++
		}
	}
	all, most := math.Log(float64(len(heads)+1)), about.Most()
	for i := range found {
		c, head := &found[i], 0.0
		for phrase, share := range heads[leafOf(*c)] {
			head = max(head, share*(1-math.Log(float64(pages[phrase]))/all))
		}
		if most > 0 {
			head *= float64(about[c.key.Revision] / most)
		}
		c.rank *= 1 + nearWeight*near[i] + headWeight*head
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
}
