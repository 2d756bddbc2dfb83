package vector

import (
	"cmp"
	"slices"
)

// blockBytes is the approximate size of a full block. It is large, so that the overhead of a block
// is small, but not so large that the last block of a namespace wastes much.
const blockBytes = 4 << 20

// Block holds the vectors of some chunks. It is immutable.
type Block struct {
	dimensions int
	values     []float32 // all vectors, concatenated
	ordinals   []int32   // one per vector
	runs       []run
	order      []int32 // the runs, ordered by revision
}

// run is a sequence of vectors of one revision. A revision may have several.
type run struct {
	revision int64
	first    int
}

// Len returns the number of vectors.
func (b *Block) Len() int { return len(b.ordinals) }

// Bytes returns about how much memory the block takes.
func (b *Block) Bytes() int64 {
	return int64(4*cap(b.values) + 4*cap(b.ordinals) + 16*cap(b.runs) + 4*cap(b.order))
}

// Revisions returns the revision of each run, in the order of Spans. The caller must not change the
// slice.
func (b *Block) Revisions() []int64 {
	all := make([]int64, len(b.runs))
	for i, r := range b.runs {
		all[i] = r.revision
	}
	return all
}

// end returns the end of a run.
func (b *Block) end(run int) int {
	if run+1 < len(b.runs) {
		return b.runs[run+1].first
	}
	return b.Len()
}

// Size returns the number of vectors of a run.
func (b *Block) Size(run int) int { return b.end(run) - b.runs[run].first }

// Span is the vectors [Start, End) of a block.
type Span struct{ Start, End int }

// Spans returns the vectors of the runs for which shown returns true, in as few spans as possible.
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

// Score returns the dot product of the query with the vector of a chunk; ok is false if the block
// has no vector for it.
func (b *Block) Score(query []float32, revision int64, ordinal int) (score float64, ok bool) {
	for _, run := range b.runsOf(revision) {
		for i := b.runs[run].first; i < b.end(int(run)); i++ {
			if b.ordinals[i] == int32(ordinal) {
				return float64(dot(query, b.vector(i))), true
			}
		}
	}
	return 0, false
}

// Runs returns the runs of a revision in the block.
func (b *Block) Runs(revision int64) []int {
	var runs []int
	for _, run := range b.runsOf(revision) {
		runs = append(runs, int(run))
	}
	return runs
}

func (b *Block) runsOf(revision int64) []int32 {
	n := len(b.order)
	if n == 0 || revision < b.runs[b.order[0]].revision || revision > b.runs[b.order[n-1]].revision {
		return nil // true of nearly all blocks, because revisions ascend in time
	}
	start, _ := slices.BinarySearchFunc(b.order, revision, func(run int32, revision int64) int {
		return cmp.Compare(b.runs[run].revision, revision)
	})
	end := start
	for end < n && b.runs[b.order[end]].revision == revision {
		end++
	}
	return b.order[start:end]
}

// Join returns a block with the vectors of a, then those of b, or nil if they do not fit into one
// block. It changes neither, but the result may share memory with a, so a block may be the first
// argument of only one Join.
func Join(a, b *Block) *Block {
	if a.Len()+b.Len() > limit(a.dimensions) {
		return nil
	}
	joined := *a
	joined.values = append(joined.values, b.values...)
	for i, r := range b.runs {
		joined.runs = append(joined.runs, run{r.revision, a.Len() + r.first})
		joined.ordinals = append(joined.ordinals, b.ordinals[r.first:b.end(i)]...)
	}
	return joined.sorted()
}

// limit is the number of vectors in a full block.
func limit(dimensions int) int { return max(1, blockBytes/4/dimensions) }

// Builder makes blocks of vectors.
type Builder struct {
	full []*Block
	last Block
}

// NewBuilder returns a builder for vectors of a length.
func NewBuilder(dimensions int) *Builder {
	return &Builder{last: Block{dimensions: dimensions}}
}

// Add appends a vector encoded by Encode. A wrong length is an error.
func (b *Builder) Add(revision int64, ordinal int, encoded []byte) error {
	dimensions := b.last.dimensions
	if b.last.Len() == limit(dimensions) {
		b.flush()
		b.last.values = make([]float32, 0, limit(dimensions)*dimensions) // further blocks follow, so this one will be filled
	}
	values, err := appendDecoded(b.last.values, encoded, dimensions)
	if err != nil {
		return err
	}
	b.last.values = values
	b.last.place(revision, ordinal)
	return nil
}

// place records the chunk of the vector that was appended last.
func (b *Block) place(revision int64, ordinal int) {
	if n := len(b.runs); n == 0 || b.runs[n-1].revision != revision {
		b.runs = append(b.runs, run{revision, len(b.ordinals)})
	}
	b.ordinals = append(b.ordinals, int32(ordinal))
}

func (b *Builder) flush() {
	b.last.values = exactly(b.last.values)
	b.full = append(b.full, b.last.sorted())
	b.last = Block{dimensions: b.last.dimensions}
}

// exactly returns values with no spare capacity.
func exactly(values []float32) []float32 {
	if cap(values) == len(values) {
		return values
	}
	return append(make([]float32, 0, len(values)), values...)
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

// Blocks returns the finished blocks.
func (b *Builder) Blocks() []*Block {
	if b.last.Len() > 0 {
		b.flush()
	}
	return b.full
}

// Keep returns a block of the runs for which kept returns true, or nil if there are none.
func (b *Block) Keep(kept func(run int) bool) *Block {
	to := Block{dimensions: b.dimensions}
	for i, r := range b.runs {
		if !kept(i) {
			continue
		}
		first, end := r.first, b.end(i)
		to.values = append(to.values, b.values[first*b.dimensions:end*b.dimensions]...)
		for _, ordinal := range b.ordinals[first:end] {
			to.place(r.revision, int(ordinal))
		}
	}
	if to.Len() == 0 {
		return nil
	}
	to.values = exactly(to.values)
	return to.sorted()
}
