package turn

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"parley/internal/chat"
)

// packer collects the events of a turn, one JSON text per line, without the turn's id. The zero value is
// empty.
type packer struct {
	lines []byte
	err   error
}

// packers are kept, because each turn needs one that is as large as what it said, for a moment.
var packers = sync.Pool{New: func() any { return &packer{lines: make([]byte, 0, usualLines)} }}

// usualLines is about what the events of an ordinary turn take, in bytes.
const usualLines = 16 << 10

// putBack empties a packer for the next turn, unless it has become large.
func (p *packer) putBack() {
	if cap(p.lines) <= compressOver {
		p.lines, p.err = p.lines[:0], nil
		packers.Put(p)
	}
}

// add packs an event with the time at which it came, if that is not zero.
func (p *packer) add(seq int, e chat.Event, at time.Time) {
	if p.err != nil {
		return
	}
	p.lines, p.err = chat.Numbered{Seq: seq, Event: e, At: at}.AppendJSON(p.lines)
	p.lines = append(p.lines, '\n')
}

// compressOver is the size from which on events are compressed. To compress those of an ordinary turn
// would take longer than to write them.
const compressOver = 32 << 10

// bytes returns what was packed. Nothing can be added after it.
func (p *packer) bytes() ([]byte, error) {
	if p.err != nil || len(p.lines) <= compressOver {
		return p.lines, p.err
	}
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	if _, err := w.Write(p.lines); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// deflaters are kept, because one takes far more memory than what it packs.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is none
	}
	return w
}}

// linesOf returns a reader of packed lines. Those that are compressed cannot begin like JSON: the
// lowest bit of what package flate writes says that another block follows (RFC 1951, section 3.2.3),
// and that of a brace says the opposite.
func linesOf(packed []byte) *bufio.Reader {
	if len(packed) == 0 || packed[0] == '{' {
		return bufio.NewReader(bytes.NewReader(packed))
	}
	return bufio.NewReader(flate.NewReader(bytes.NewReader(packed)))
}

// unpack yields the events that a packer collected.
func unpack(packed []byte) iter.Seq2[chat.Numbered, error] {
	return func(yield func(chat.Numbered, error) bool) {
		lines := linesOf(packed)
		for {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			var n chat.Numbered
			if err == nil {
				err = json.Unmarshal(line, &n)
			}
			if err != nil {
				yield(n, fmt.Errorf("unpack events: %w", err))
				return
			}
			if !yield(n, nil) {
				return
			}
		}
	}
}
