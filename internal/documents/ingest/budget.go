package ingest

import (
	"fmt"
	"time"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// The limits of nested files; a zero field of Config means these.
const (
	defaultParts      = 10_000
	defaultPartsBytes = 1 << 30
	maxDepth          = 4 // of nesting of archives and mails
)

// The budget of an outermost file is a floor, which is enough for small files, plus a share that grows with
// its size. A log in a ZIP archive gives 10 bytes of text for each of its bytes, and a table of 50 repeating
// rows gives 100 (TestRun_HasRoomForHonestFilesThatRepeatThemselves); bombs begin at 1,000.
const (
	textFloor, textShare     = 1 << 20, 100 // bytes of text; bytes of text for each byte of the file
	storedShare              = 3            // bytes of chunks for each byte of text: chunks repeat headings and overlap
	chunksFloor, chunksShare = 1000, 5      // chunks; bytes of the file for each further chunk
	partsFloor, partsShare   = 1000, 16     // files inside it; bytes of the file for each further one
	unpackFloor, unpackShare = 8 << 20, 200 // bytes of files inside it; for each byte of the file
	timeFloor                = 20 * time.Second
	timeShare                = 20 * time.Second // for each MiB of the file
)

// budget is the remaining budget of an outermost file and all files nested inside it.
type budget struct {
	of     int64 // size of the outermost file
	parts  int
	bytes  int64
	text   int64
	stored int64 // bytes of chunks
	chunks int64

	maxChunks int64          // the initial value of chunks
	time      time.Duration  // processor time
	spent     *extract.Error // why nothing more is read; nil while the budget lasts
}

// newBudget returns the budget of a file of a size, within the limits that the configuration sets for
// any file. If chunks are smaller than the default, there may be proportionally more.
func newBudget(size int64, cfg Config) *budget {
	text := textFloor + textShare*size
	chunks := chunksFloor + size/chunksShare
	chunks = chunks * defaultSize / int64(min(cfg.Split.withDefaults().Size, defaultSize))
	return &budget{
		of:     size,
		parts:  int(min(int64(cfg.MaxParts), partsFloor+size/partsShare)),
		bytes:  min(cfg.MaxPartsBytes, unpackFloor+unpackShare*size),
		text:   text,
		stored: storedShare * text,
		chunks: chunks, maxChunks: chunks,
		time: timeFloor + time.Duration(float64(timeShare)*float64(size)/(1<<20)),
	}
}

// limit makes a request keep within the budget.
func (b *budget) limit(r *extract.Request) {
	r.Parts, r.PartsBytes, r.TextBytes, r.Time = b.parts, b.bytes, max(b.text, 1), max(b.time, time.Millisecond)
}

// settle deducts the cost of reading a file, whether it gave a document or an error. inside says that
// the file is not the outermost one.
func (b *budget) settle(result *extract.Result, err *extract.Error, inside bool) {
	if result != nil {
		b.time -= result.Took
	}
	switch {
	case err != nil && err.Spent && b.spent == nil && inside:
		b.spent = &extract.Error{Reason: err.Reason, Spent: true,
			Detail: fmt.Sprintf("what is inside the file is too much for its size of %s", amount(b.of))}
	case err != nil && err.Spent && b.spent == nil:
		b.spent = err
	case b.time <= 0:
		b.outOfTime()
	}
	if err != nil || result == nil || result.Document == nil {
		return
	}
	for _, p := range result.Document.Pages {
		b.text -= int64(len(p.Text))
	}
	for _, p := range result.Document.Parts {
		b.parts--
		b.bytes -= max(p.Size, 0)
	}
}

// keep deducts a document's chunks, and returns an error when there are too many.
func (b *budget) keep(chunks []retrieval.Chunk) error {
	b.chunks -= int64(len(chunks))
	for _, c := range chunks {
		b.stored -= int64(len(c.Text))
		for _, h := range c.Headings {
			b.stored -= int64(len(h))
		}
	}
	switch {
	case b.chunks < 0:
		b.exceeded("make more than %d chunks", b.maxChunks)
	case b.stored < 0:
		b.exceeded("make chunks of more than %s", amount(storedShare*(textFloor+textShare*b.of)))
	default:
		return nil
	}
	return b.spent
}

// exceeded records which part of the budget is exceeded. Only the first call has an effect.
func (b *budget) exceeded(format string, args ...any) {
	if b.spent == nil {
		b.spent = &extract.Error{Reason: extract.TooLarge, Spent: true, Detail: fmt.Sprintf(
			"the file and those inside it "+format+", which is out of proportion to its size of %s", append(args, amount(b.of))...)}
	}
}

func (b *budget) outOfTime() {
	if b.spent == nil {
		b.spent = &extract.Error{Reason: extract.Timeout, Spent: true,
			Detail: fmt.Sprintf("reading the file and those inside it takes too long for its size of %s", amount(b.of))}
	}
}

// amount formats a number of bytes for people.
func amount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
