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

	"parley/internal/chat"
)

// packer collects the events of a turn, compressed, one JSON text a line.
type packer struct {
	turnID string
	buf    bytes.Buffer
	deflat *flate.Writer
	err    error
}

// deflaters are kept, because one takes far more memory than what it packs.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is none
	}
	return w
}}

// newPacker returns an empty packer. The caller calls bytes or drop at the end.
func newPacker(turnID string) *packer {
	p := &packer{turnID: turnID, deflat: deflaters.Get().(*flate.Writer)}
	p.deflat.Reset(&p.buf)
	return p
}

func (p *packer) add(seq int, e chat.Event) {
	if p.err != nil {
		return
	}
	// Not json.Marshal, which would go over the whole text once more.
	line, err := chat.Numbered{Turn: p.turnID, Seq: seq, Event: e}.MarshalJSON()
	if err == nil {
		_, err = p.deflat.Write(append(line, '\n'))
	}
	p.err = err
}

// bytes returns what was packed. Nothing can be added after it.
func (p *packer) bytes() ([]byte, error) {
	if p.deflat != nil {
		if p.err == nil {
			p.err = p.deflat.Close()
		}
		p.drop()
	}
	return p.buf.Bytes(), p.err
}

// drop gives back what the packer works with.
func (p *packer) drop() {
	if p.deflat != nil {
		deflaters.Put(p.deflat)
		p.deflat = nil
	}
}

// unpack yields the events that a packer collected.
func unpack(packed []byte) iter.Seq2[chat.Numbered, error] {
	return func(yield func(chat.Numbered, error) bool) {
		lines := bufio.NewReader(flate.NewReader(bytes.NewReader(packed)))
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

// repeat yields packed events as a turn does.
func repeat(packed []byte) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for n, err := range unpack(packed) {
			if !yield(n.Event, err) {
				return
			}
		}
	}
}
