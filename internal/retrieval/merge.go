package retrieval

import (
	"cmp"
	"slices"
)

// Merge returns the best passages of several searches for the same question, each in another place. A score by words was
// relative to the best passage of its own place; in the result it is relative to the best of all places.
func Merge(all []Result, limit int) Result {
	if len(all) == 1 {
		return all[0]
	}
	merged := Result{Mode: Text}
	m := merger{least: 1, best: -1}
	for _, r := range all {
		merged.note(r)
		for _, p := range r.Passages {
			m.see(p)
		}
	}
	for _, r := range all {
		for _, p := range r.Passages {
			p.Rank = m.rank(&p)
			merged.Passages = append(merged.Passages, p)
		}
	}
	slices.SortStableFunc(merged.Passages, func(a, b Passage) int { return cmp.Compare(b.Rank, a.Rank) })
	merged.Passages = merged.Passages[:min(len(merged.Passages), limit)]
	if len(merged.Passages) > 0 {
		best := cmp.Or(merged.Passages[0].Rank, 1)
		for i := range merged.Passages {
			merged.Passages[i].Rank /= best
		}
	}
	return merged
}

// note adds another result's data, except its passages, to a merged result.
func (r *Result) note(other Result) {
	if other.Mode != Text {
		r.Mode = other.Mode
	}
	r.HasVector = r.HasVector || other.HasVector
	r.Matched += other.Matched
	r.Usage = r.Usage.Add(other.Usage)
	r.Model = cmp.Or(r.Model, other.Model)
	r.EmbedTime += other.EmbedTime
	r.Note = cmp.Or(r.Note, other.Note)
	for _, t := range other.Terms {
		i := slices.IndexFunc(r.Terms, func(known Term) bool { return known.Text == t.Text })
		switch {
		case i < 0:
			r.Terms = append(r.Terms, t)
		case t.Known && (!r.Terms[i].Known || t.IDF < r.Terms[i].IDF): // a word is as frequent as where it is most frequent
			r.Terms[i].Known, r.Terms[i].IDF = true, t.IDF
		}
	}
}

// merger ranks passages of several places as fusion does within one. The lowest cosine of all stands in for the mean, which is
// known only within a place.
type merger struct {
	words       float64 // the best score
	least, best float64 // cosines
}

func (m *merger) see(p Passage) {
	if s := p.Scores.BM25; s != nil {
		m.words = max(m.words, *s)
	}
	if s := p.Scores.Vector; s != nil {
		m.least, m.best = min(m.least, *s), max(m.best, *s)
	}
}

// rank returns the rank of a passage, and corrects its score.
func (m *merger) rank(p *Passage) float64 {
	share := 0.0
	if s := p.Scores.BM25; s != nil && m.words > 0 {
		share = *s / m.words
	}
	if p.Scores.Vector == nil {
		p.Score = share
		return share * (1 - vectorShare + vectorShare*likeWords)
	}
	f := fusion{bestLiked: m.best, mean: m.least}
	return vectorShare*f.relative(*p.Scores.Vector) + (1-vectorShare)*share
}
