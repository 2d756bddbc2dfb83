package lexical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/text"
)

// randomRevisions returns documents over a small vocabulary, so that terms collide often.
func randomRevisions(rnd *rand.Rand, first, n int) []Revision {
	var revs []Revision
	for i := range n {
		r := Revision{ID: int64(first + i)}
		for range rnd.IntN(4) { // some without chunks
			var words []string
			for range 1 + rnd.IntN(40) {
				words = append(words, fmt.Sprintf("w%dx", int(rnd.ExpFloat64()*8)))
			}
			r.Chunks = append(r.Chunks, Chunk{Body: strings.Join(words, " "), Titles: []string{fmt.Sprintf("title%d", i%5)}})
		}
		revs = append(revs, r)
	}
	return revs
}

// naive scores every chunk by the textbook formula over its window.
func naive(revs []Revision, terms []Term, visible []int64, k int) []Hit {
	type chunk struct {
		rev     int64
		ordinal int
		tf      map[string]int
		length  int
	}
	var all []chunk
	df := map[string]int{}
	total := 0
	for _, r := range revs {
		for i, c := range r.Chunks {
			d := chunk{rev: r.ID, ordinal: i, tf: map[string]int{}}
			for _, t := range append(text.Terms(c.Body), text.Terms(strings.Join(c.Titles, " "))...) {
				d.tf[t]++
				d.length++
			}
			for t := range d.tf {
				df[t]++
			}
			total += d.length
			all = append(all, d)
		}
	}
	n, average := float64(len(all)), float64(total)/float64(len(all))
	var hits []Hit
	for i, d := range all {
		if !slices.Contains(visible, d.rev) {
			continue
		}
		score := 0.0
		for _, t := range terms {
			tf, length := float64(d.tf[t.Text]), float64(d.length)
			for _, j := range []int{i - 1, i + 1} {
				if j >= 0 && j < len(all) && all[j].rev == d.rev {
					tf += neighbourShare * float64(all[j].tf[t.Text])
					length += neighbourShare * float64(all[j].length)
				}
			}
			if tf > 0 {
				idf := math.Log(1 + (n-float64(df[t.Text])+.5)/(float64(df[t.Text])+.5))
				score += t.Weight * idf * tf * (k1 + 1) / (tf + k1*(1-b+b*length/average))
			}
		}
		if score > 0 {
			hits = append(hits, Hit{Revision: d.rev, Ordinal: d.ordinal, Score: score})
		}
	}
	slices.SortStableFunc(hits, compareHits)
	return hits[:min(k, len(hits))]
}

func open(t *testing.T, data []byte) *Segment {
	t.Helper()
	s, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSearch_IsTextbookBM25OverAnySegmentation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	approx := cmpopts.EquateApprox(1e-5, 0)
	for round := range 50 {
		revs := randomRevisions(rnd, 1, 30)
		cut := rnd.IntN(len(revs))
		one := open(t, Build(revs))
		two := []*Segment{open(t, Build(revs[:cut])), open(t, Build(revs[cut:]))}
		merged, ok := Merge(two, func(int64) bool { return true })
		if !ok {
			t.Fatal("nothing left after a merge that keeps everything")
		}
		terms := []Term{{"w0x", 1}, {"w3x", 2}, {fmt.Sprintf("w%dx", rnd.IntN(20)), .3}, {"absent", 1}, {"title2", .5}}
		var visible []int64
		for _, r := range revs {
			if rnd.IntN(3) > 0 {
				visible = append(visible, r.ID)
			}
		}
		k := 1 + rnd.IntN(20)
		want := naive(revs, terms, visible, k)
		for name, segs := range map[string][]*Segment{"one": {one}, "two": two, "merged": {open(t, merged)}} {
			r := NewReader(segs)
			got, _ := r.Search(terms, r.View(visible), k)
			scores := func(h []Hit) (s []float64) {
				for _, x := range h {
					s = append(s, x.Score)
				}
				return s
			}
			// Chunks whose scores differ by rounding only may change places.
			if diff := cmp.Diff(scores(want), scores(got), approx); diff != "" {
				t.Fatalf("round %d, %s: hits differ (-want +got):\n%s", round, name, diff)
			}
			for _, h := range got {
				if !slices.Contains(visible, h.Revision) {
					t.Fatalf("round %d, %s: hit in the hidden revision %d", round, name, h.Revision)
				}
			}
		}
	}
}

func TestMerge_DropsWhatIsGone(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	revs := randomRevisions(rnd, 1, 40)
	segs := []*Segment{open(t, Build(revs[:13])), open(t, Build(revs[13:29])), open(t, Build(revs[29:]))}
	keep := func(r int64) bool { return r%3 != 0 }
	merged, ok := Merge(segs, keep)
	if !ok {
		t.Fatal("nothing left")
	}
	var kept []Revision
	for _, r := range revs {
		if keep(r.ID) {
			kept = append(kept, r)
		}
	}
	if diff := cmp.Diff(Build(kept), merged); diff != "" {
		t.Error("a merge differs from a segment built of what it keeps")
	}
	if _, ok := Merge(segs, func(int64) bool { return false }); ok {
		t.Error("a merge that keeps nothing has a segment")
	}
}

func TestBuild_IsDeterministic(t *testing.T) {
	revs := randomRevisions(rand.New(rand.NewPCG(5, 6)), 1, 20)
	if !slices.Equal(Build(revs), Build(revs)) {
		t.Error("two builds of the same documents differ")
	}
}

func TestOpen_RejectsEveryDamagedByte(t *testing.T) {
	data := Build(randomRevisions(rand.New(rand.NewPCG(7, 8)), 1, 5))
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 0x55
		if _, err := Open(bad); err == nil {
			t.Fatalf("opened with byte %d of %d changed", i, len(data))
		}
	}
	for n := range data {
		if _, err := Open(data[:n]); err == nil {
			t.Fatalf("opened with %d of %d bytes", n, len(data))
		}
	}
}

func TestSimilar_CorrectsOneSlip(t *testing.T) {
	seg := open(t, Build([]Revision{{ID: 1, Chunks: []Chunk{
		{Body: "health health coverage plan"}, {Body: "health wealth insurance 2024"}, {Body: "保険 Straße"},
	}}}))
	r := NewReader([]*Segment{seg})
	tests := []struct{ in, want string }{
		{"helth", "health"},   // a letter left out
		{"heallth", "health"}, // one too many
		{"haelth", "health"},  // swapped
		{"hexlth", "health"},  // another
		{"insuranc", ""},      // is indexed as it is: only other terms count
		{"pla", ""},           // too short
		{"2025", ""},          // numbers are not corrected
		{"kubernetes", ""},    // nothing near
		{"welath", "wealth"},  // the first letter decides
	}
	for _, tt := range tests {
		if got, _ := r.Similar(tt.in); got != tt.want {
			t.Errorf("Similar(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestReader_OfNothing(t *testing.T) {
	r := NewReader(nil)
	hits, matched := r.Search([]Term{{"plan", 1}}, r.View(nil), 5)
	if len(hits) != 0 || matched != 0 {
		t.Errorf("found %d hits in an empty index", len(hits))
	}
	empty := open(t, Build(nil))
	if empty.Chunks() != 0 {
		t.Errorf("an empty segment has %d chunks", empty.Chunks())
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(Build([]Revision{{ID: 1, Chunks: []Chunk{{Body: "a plan"}}}}))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Open(data); err == nil {
			r := NewReader([]*Segment{s})
			r.Search([]Term{{"plan", 1}}, r.View(s.Revisions()), 3)
		}
	})
}
