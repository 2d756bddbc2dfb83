package lexical

import (
	"context"
	"crypto/sha256"
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
	return countWords(revs).search(terms, visible, k)
}

// counted are chunks with their words counted.
type counted struct {
	all   []countedChunk
	df    map[string]int
	total int
}

type countedChunk struct {
	rev     int64
	ordinal int
	tf      map[string]int
	length  int
}

func countWords(revs []Revision) *counted {
	c := &counted{df: map[string]int{}}
	for _, r := range revs {
		for i, chunk := range r.Chunks {
			d := countedChunk{rev: r.ID, ordinal: i, tf: map[string]int{}}
			for _, t := range append(text.Terms(chunk.Body), text.Terms(strings.Join(chunk.Titles, " "))...) {
				d.tf[t]++
				d.length++
			}
			for t := range d.tf {
				c.df[t]++
			}
			c.total += d.length
			c.all = append(c.all, d)
		}
	}
	return c
}

func (c *counted) search(terms []Term, visible []int64, k int) []Hit {
	all, df := c.all, c.df
	n, average := float64(len(all)), float64(c.total)/float64(len(all))
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

// only returns a view's filter for the revisions with these ids.
func only(segments []*Segment, ids []int64) func(segment, revision int) bool {
	return func(segment, revision int) bool {
		return slices.Contains(ids, segments[segment].revisions[revision].id)
	}
}

func open(t testing.TB, data []byte) *Segment {
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
		merged, ok := Merge(two, func(int, int) bool { return true })
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
			got, matched, _ := r.View(only(segs, visible)).Search(t.Context(), terms, k)
			if all := naive(revs, terms, visible, math.MaxInt); matched != len(all) {
				t.Fatalf("round %d, %s: %d chunks matched, want %d", round, name, matched, len(all))
			}
			scores := func(h []Hit) (s []float64) {
				for _, x := range h {
					s = append(s, x.Score)
				}
				return s
			}
			// Chunks whose scores differ only by rounding may swap places.
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

func TestMerge_InterleavesRevisionsOfSeveralSegments(t *testing.T) {
	revs := randomRevisions(rand.New(rand.NewPCG(9, 10)), 1, 30)
	parts := make([][]Revision, 3)
	for i, r := range revs {
		parts[i*7%3] = append(parts[i*7%3], r)
	}
	var segs []*Segment
	for _, p := range parts {
		segs = append(segs, open(t, Build(p)))
	}
	merged, _ := Merge(segs, func(int, int) bool { return true })
	if !slices.Equal(merged, Build(revs)) {
		t.Error("a merge differs from a segment built of the same documents")
	}
}

func TestMerge_DropsWhatIsGone(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	revs := randomRevisions(rnd, 1, 40)
	segs := []*Segment{open(t, Build(revs[:13])), open(t, Build(revs[13:29])), open(t, Build(revs[29:]))}
	keep := func(r int64) bool { return r%3 != 0 }
	merged, ok := Merge(segs, func(s, n int) bool { return keep(segs[s].Revisions()[n]) })
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
	if _, ok := Merge(segs, func(int, int) bool { return false }); ok {
		t.Error("a merge that keeps nothing has a segment")
	}
}

func TestBuild_IsDeterministic(t *testing.T) {
	revs := randomRevisions(rand.New(rand.NewPCG(5, 6)), 1, 20)
	if !slices.Equal(Build(revs), Build(revs)) {
		t.Error("two builds of the same documents differ")
	}
}

// If this test fails, the format or the text analysis has changed and stored segments must be
// rebuilt: change Generation.
func TestBuild_BytesChangeOnlyWithTheGeneration(t *testing.T) {
	revs := randomRevisions(rand.New(rand.NewPCG(17, 18)), 1, 50)
	revs = append(revs, Revision{ID: 100, Chunks: []Chunk{
		{Body: "The plan's 1,000.5 € Straße, 東京タワー, الكِتَاب, max_output_tokens", Name: "Benefit Options", Page: 7},
		{Body: "One word: " + strings.Repeat("abcdefg", 100), Page: 8},
		{Body: "Second page of running full-time employees", Titles: []string{"Options"}, Page: 70_000},
	}})
	got := fmt.Sprintf("%s %.4x", Generation, sha256.Sum256(Build(revs))) // without the CRC, which would make all CRCs equal
	if want := "lex4 6574448e"; got != want {
		t.Errorf("a segment is %s, was %s", got, want)
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
	v := NewReader([]*Segment{seg}).View(nil)
	tests := []struct{ in, want string }{
		{"helth", "health"},   // a letter left out
		{"heallth", "health"}, // one too many
		{"haelth", "health"},  // swapped
		{"hexlth", "health"},  // replaced
		{"insuranc", ""},      // indexed as it is: only other terms count
		{"pla", ""},           // too short
		{"2025", ""},          // numbers are not corrected
		{"kubernetes", ""},    // nothing similar
		{"welath", "wealth"},  // the first letter decides
		{"strasze", "strase"}, // folded as in the index
		{"wheer", ""},         // a function word
	}
	for _, tt := range tests {
		if got, _ := v.Similar(context.Background(), tt.in); got != tt.want {
			t.Errorf("Similar(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestReader_OfNothing(t *testing.T) {
	r := NewReader(nil)
	hits, matched, _ := r.View(nil).Search(t.Context(), []Term{{"plan", 1}}, 5)
	if len(hits) != 0 || matched != 0 {
		t.Errorf("found %d hits in an empty index", len(hits))
	}
	if st := r.View(nil).Stat("plan"); st.Known || st.IDF < 0 {
		t.Errorf("an empty index says %+v of a term", st)
	}
	empty := open(t, Build(nil))
	if empty.Chunks() != 0 {
		t.Errorf("an empty segment has %d chunks", empty.Chunks())
	}
}

func TestSimilar_DoesNotTellOfWhatIsHidden(t *testing.T) {
	segs := []*Segment{open(t, Build([]Revision{
		{ID: 1, Chunks: []Chunk{{Body: "bluebird bluebird"}, {Body: "bluebird"}}},
		{ID: 2, Chunks: []Chunk{{Body: "bluebind"}}},
	}))}
	r := NewReader(segs)
	for _, tt := range []struct {
		visible []int64
		want    string
	}{
		{[]int64{1, 2}, "bluebird"}, {[]int64{2}, "bluebind"}, {[]int64{1}, "bluebird"}, {nil, ""},
	} {
		if got, _ := r.View(only(segs, tt.visible)).Similar(t.Context(), "bluebaxd"); got != "" {
			t.Errorf("two slips were corrected to %q", got)
		}
		if got, _ := r.View(only(segs, tt.visible)).Similar(t.Context(), "bluebixd"); got != tt.want {
			t.Errorf("with %v visible, Similar = %q, want %q", tt.visible, got, tt.want)
		}
	}
}

func TestOneSlip_IsOneEditOfCharacters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	letters := []rune("abé保ü𝒳")
	word := func() []rune {
		w := make([]rune, rnd.IntN(6))
		for i := range w {
			w[i] = letters[rnd.IntN(len(letters))]
		}
		return w
	}
	slips := 0
	for range 5_000 {
		a, b := word(), word()
		want := slices.ContainsFunc(edits(a, letters), func(e string) bool { return e == string(b) }) && string(a) != string(b)
		if want {
			slips++
		}
		if got := oneSlip([]byte(string(a)), string(b)); got != want {
			t.Fatalf("oneSlip(%q, %q) = %v", string(a), string(b), got)
		}
	}
	if slips < 100 {
		t.Errorf("only %d of the pairs differed by one slip", slips)
	}
}

// edits returns all strings one edit away from w, over an alphabet.
func edits(w, alphabet []rune) []string {
	var all []string
	add := func(parts ...[]rune) { all = append(all, string(slices.Concat(parts...))) }
	for i := range len(w) + 1 {
		for _, l := range alphabet {
			add(w[:i], []rune{l}, w[i:])
			if i < len(w) {
				add(w[:i], []rune{l}, w[i+1:])
			}
		}
		if i < len(w) {
			add(w[:i], w[i+1:])
		}
		if i+1 < len(w) {
			add(w[:i], []rune{w[i+1], w[i]}, w[i+2:])
		}
	}
	return all
}

func TestFind_FindsEveryTermAndNoOther(t *testing.T) {
	all := []string{""} // all words of up to five of three letters, which share prefixes
	for n := 0; len(all) < 364; n++ {
		all = append(all, all[n]+"a", all[n]+"b", all[n]+"x")
	}
	rnd := rand.New(rand.NewPCG(13, 14))
	for round := range 20 {
		var words dictionary
		has := make(map[string]bool)
		for _, w := range slices.Sorted(slices.Values(all)) {
			if rnd.IntN(2+round) == 0 && w != "" {
				words.add([]byte(w), len(w), []byte(w))
				has[w] = true
			}
		}
		s := open(t, encode(&chunkTable{}, &words))
		for _, w := range all {
			if e, ok := s.find(w); ok != has[w] || ok && (e.df != len(w) || string(e.post) != w) {
				t.Fatalf("round %d: find(%q) = %+v, %v", round, w, e, ok)
			}
		}
		if n := testing.AllocsPerRun(100, func() { s.find("abxa"); s.find("nothing") }); n != 0 {
			t.Errorf("find allocates %v times", n)
		}
	}
}

func TestView_StatIsOfWhatIsShown(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 16))
	for round := range 40 {
		revs := randomRevisions(rnd, 1, 100)
		segs := []*Segment{open(t, Build(revs[:70])), open(t, Build(revs[70:]))}
		var visible []int64
		for _, r := range revs {
			if rnd.IntN(1+round%20) == 0 {
				visible = append(visible, r.ID)
			}
		}
		v := NewReader(segs).View(only(segs, visible))
		words := countWords(revs)
		unknown := v.Stat("absent").IDF
		for n := range 40 {
			term := fmt.Sprintf("w%dx", n)
			want := len(words.search([]Term{{term, 1}}, visible, math.MaxInt)) > 0
			st := v.Stat(term)
			if st.Known != want {
				t.Fatalf("round %d: Stat(%q) = %+v, want known %v", round, term, st, want)
			}
			if !st.Known && st.IDF != unknown {
				t.Fatalf("round %d: Stat(%q) tells how often a hidden term occurs: %+v", round, term, st)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(Build([]Revision{{ID: 1, Chunks: []Chunk{{Body: "a plan"}}}}))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Open(data); err == nil {
			_, _, _ = NewReader([]*Segment{s}).View(nil).Search(context.Background(), []Term{{"plan", 1}}, 3)
		}
	})
}
