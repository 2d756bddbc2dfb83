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

// packer collects the events of a turn as lines of JSON, without the turn's id. The zero value is empty.
type packer struct {
	lines []byte
	err   error
}

// packers are pooled, because each turn briefly needs one that is as large as all its events.
var packers = sync.Pool{New: func() any { return &packer{lines: make([]byte, 0, usualLines)} }}

// usualLines is the approximate size of the events of an ordinary turn, in bytes.
const usualLines = 16 << 10

// putBack returns a packer to the pool, unless it has become too large.
func (p *packer) putBack() {
	if cap(p.lines) <= compressOver {
		p.lines, p.err = p.lines[:0], nil
		packers.Put(p)
	}
}

// add adds an event with its time, which may be zero.
func (p *packer) add(seq int, e chat.Event, at time.Time) {
	if p.err != nil {
		return
	}
	p.lines, p.err = chat.Numbered{Seq: seq, Event: e, At: at}.AppendJSON(p.lines)
	p.lines = append(p.lines, '\n')
}

// compressOver is the size in bytes above which events are compressed. Compressing those of an ordinary
// turn would take longer than writing them.
const compressOver = 32 << 10

// bytes returns the packed events. Nothing may be added afterwards.
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

// deflaters are pooled, because each needs far more memory than the data it compresses.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // impossible: the level is valid
	}
	return w
}}

// linesOf returns a reader of packed lines. Compressed data never begins like JSON: the lowest bit of
// the first byte that package flate writes is 0, because another block follows (RFC 1951, section
// 3.2.3), and the lowest bit of a brace is 1.
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
