package vector

import (
	"cmp"
	"slices"
)

// blockBytes is about the size of a full block: large enough that scanning it costs nothing beside
// its products, small enough that the last one of a namespace wastes little.
const blockBytes = 4 << 20

// Block holds the vectors of some chunks. It is immutable.
type Block struct {
	dimensions int
	values     []float32 // one vector after the other
	ordinals   []int32   // by vector
	runs       []run
	order      []int32 // the runs in the order of their revisions
}

// run is a sequence of vectors of one revision. A revision may have several.
type run struct {
	revision int64
	first    int
}

// Len returns the number of vectors.
func (b *Block) Len() int { return len(b.ordinals) }

// Revisions returns the revision of each run, in the order of Spans. The caller must not change it.
func (b *Block) Revisions() []int64 {
	all := make([]int64, len(b.runs))
	for i, r := range b.runs {
		all[i] = r.revision
	}
	return all
}

// end returns where a run ends.
func (b *Block) end(run int) int {
	if run+1 < len(b.runs) {
		return b.runs[run+1].first
	}
	return b.Len()
}

// Size returns the number of vectors of a run.
func (b *Block) Size(run int) int { return b.end(run) - b.runs[run].first }

// Span is the vectors from Start to End of a block, End exclusive.
type Span struct{ Start, End int }

// Spans returns the vectors of the runs for which shown returns true, as few spans as that takes.
func (b *Block) Spans(shown func(run int) bool) []Span {
	var spans []Span
	for i, r := range b.runs {
		if !shown(i) {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].End == r.first {
			spans[n-1].End = b.end(i)
			continue
		}
		spans = append(spans, Span{r.first, b.end(i)})
	}
	return spans
}

// vector returns a vector by its position.
func (b *Block) vector(i int) []float32 {
	return b.values[i*b.dimensions : (i+1)*b.dimensions : (i+1)*b.dimensions]
}

// revisionAt returns the revision of a vector.
func (b *Block) revisionAt(i int) int64 {
	n, ok := slices.BinarySearchFunc(b.runs, i, func(r run, i int) int { return r.first - i })
	if !ok {
		n--
	}
	return b.runs[n].revision
}

// Score returns the dot product of the query with the vector of a chunk; ok is false when it has
// none in the block.
func (b *Block) Score(query []float32, revision int64, ordinal int) (score float64, ok bool) {
	n, _ := slices.BinarySearchFunc(b.order, revision, func(run int32, revision int64) int {
		return cmp.Compare(b.runs[run].revision, revision)
	})
	for ; n < len(b.order) && b.runs[b.order[n]].revision == revision; n++ {
		run := int(b.order[n])
		for i := b.runs[run].first; i < b.end(run); i++ {
			if b.ordinals[i] == int32(ordinal) {
				return float64(dot(query, b.vector(i))), true
			}
		}
	}
	return 0, false
}

// Builder adds vectors to blocks, of which the last one may be one that exists already: it is not
// changed, but what is built may share its memory. No block may be built on twice.
type Builder struct {
	dimensions int
	full       []*Block
	last       Block
}

// NewBuilder returns a builder for vectors of a length, which goes on after a block unless that is
// nil or full.
func NewBuilder(dimensions int, after *Block) *Builder {
	b := &Builder{dimensions: dimensions, last: Block{dimensions: dimensions}}
	if after != nil {
		b.last = *after
	}
	return b
}

// Add appends a vector as Encode returned it. Its length is that of the builder, or there is an
// error.
func (b *Builder) Add(revision int64, ordinal int, encoded []byte) error {
	if limit := max(1, blockBytes/4/b.dimensions); b.last.Len() >= limit {
		b.last.values = exactly(b.last.values)
		b.flush()
		b.last.values = make([]float32, 0, limit*b.dimensions) // there are many: it will be filled
	}
	values, err := appendDecoded(b.last.values, encoded, b.dimensions)
	if err != nil {
		return err
	}
	b.last.values = values
	b.place(revision, ordinal)
	return nil
}

// place says which chunk the vector belongs to that was appended last.
func (b *Builder) place(revision int64, ordinal int) {
	l := &b.last
	// A run that stood there before belongs to another block too, which ends with it.
	if n := len(l.runs); n == 0 || l.runs[n-1].revision != revision {
		l.runs = append(l.runs, run{revision, len(l.ordinals)})
	}
	l.ordinals = append(l.ordinals, int32(ordinal))
}

// exactly returns values without room for more, which a slice that has grown has.
func exactly(values []float32) []float32 {
	if cap(values) == len(values) {
		return values
	}
	return append(make([]float32, 0, len(values)), values...)
}

func (b *Builder) flush() {
	b.full = append(b.full, b.last.sorted())
	b.last = Block{dimensions: b.dimensions}
}

// sorted returns the block with its runs in order.
func (b Block) sorted() *Block {
	b.order = make([]int32, len(b.runs))
	for i := range b.order {
		b.order[i] = int32(i)
	}
	slices.SortStableFunc(b.order, func(x, y int32) int { return cmp.Compare(b.runs[x].revision, b.runs[y].revision) })
	return &b
}

// Blocks returns the blocks that were built, the one that was gone on after in the place of itself.
func (b *Builder) Blocks() []*Block {
	if b.last.Len() > 0 {
		b.flush()
	}
	return b.full
}

// Keep returns a block of the runs for which kept returns true, nil when there are none.
func (b *Block) Keep(kept func(run int) bool) *Block {
	to := NewBuilder(b.dimensions, nil)
	for i, r := range b.runs {
		if !kept(i) {
			continue
		}
		first, end := r.first, b.end(i)
		to.last.values = append(to.last.values, b.values[first*b.dimensions:end*b.dimensions]...)
		for _, ordinal := range b.ordinals[first:end] {
			to.place(r.revision, int(ordinal))
		}
	}
	if to.last.Len() == 0 {
		return nil
	}
	to.last.values = exactly(to.last.values)
	return to.last.sorted()
}
