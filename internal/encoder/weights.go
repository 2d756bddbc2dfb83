package encoder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Magic begins a file of weights; the last byte is the version of the format.
const Magic = "parley encoder 1"

// Header describes a file of weights. The file is Magic, the length of the header as four bytes,
// the header as JSON, and then the arrays that Header.Arrays places; all numbers are little-endian.
type Header struct {
	Name      string           `json:"name"`
	Source    string           `json:"source"`  // package of the original weights, with version and checksum
	Licence   string           `json:"licence"` // of the weights
	Layers    int              `json:"layers"`
	Hidden    int              `json:"hidden"` // length of a vector
	Heads     int              `json:"heads"`
	Inner     int              `json:"inner"` // of the feed-forward part
	Positions int              `json:"positions"`
	Epsilon   float32          `json:"epsilon"`
	Query     string           `json:"query"`               // written before a question
	Passage   string           `json:"passage,omitempty"`   // written before a passage
	Tokenizer string           `json:"tokenizer,omitempty"` // "unigram"; "" is WordPiece
	Mean      bool             `json:"mean,omitempty"`      // the mean of all tokens stands for a text, not the first token
	Shares    string           `json:"shares,omitempty"`    // the name of the model whose vocabulary and words this one uses
	Arrays    map[string]Array `json:"arrays"`
}

// Array is a place in the file, counted from the end of the header.
type Array struct {
	Offset int `json:"offset"`
	Length int `json:"length"` // bytes
}

// linear is a matrix of weights in panels of 16 outputs, each of which holds its inputs in groups
// of four: b[panel][input/4][output%16][input%4].
type linear struct {
	in, out int
	panels  []int8
	sums    []int32   // of each output's weights
	scales  []float32 // of each output
	bias    []float32
}

type layerNorm struct{ gain, bias []float32 }

type layer struct {
	attend, project, expand, contract linear // attend yields queries, keys and values side by side
	attended, done                    layerNorm
}

// weights are views of a file: matrices are not copied, so that they can stay on disk until used.
type weights struct {
	Header
	// Tables of embeddings, with any byte for zero: it shifts all dimensions alike, and the
	// normalisation that follows takes that out. There is a kind for a first text, and for a second one
	// if the model reads pairs.
	words, positions, kinds          []uint8
	fine                             bool // words are in blocks of four bits, see word
	wordScale, placeScale, kindScale float32
	embedded                         layerNorm
	layers                           []layer
	vocabulary                       []string
}

// reader takes arrays from a file and remembers the first error.
type reader struct {
	arrays map[string]Array
	body   []byte
	err    error
}

func (r *reader) bytes(name string, length int) []byte {
	a, ok := r.arrays[name]
	if !ok || a.Offset < 0 || a.Length < 0 || a.Offset > len(r.body)-a.Length || length >= 0 && a.Length != length {
		if r.err == nil {
			r.err = fmt.Errorf("the array %s is missing or has the wrong size", name)
		}
		return make([]byte, max(length, 0))
	}
	return r.body[a.Offset : a.Offset+a.Length]
}

func (r *reader) floats(name string, n int) []float32 {
	raw, all := r.bytes(name, 4*n), make([]float32, n)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return all
}

func (r *reader) linear(name string, in, out int) linear {
	raw := r.bytes(name+".sums", 4*out)
	sums := make([]int32, out)
	for i := range sums {
		sums[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return linear{
		in: in, out: out, panels: signed(r.bytes(name+".weights", in*out)), sums: sums,
		scales: r.floats(name+".scales", out), bias: r.floats(name+".bias", out),
	}
}

func (r *reader) norm(name string, n int) layerNorm {
	return layerNorm{gain: r.floats(name+".gain", n), bias: r.floats(name+".bias", n)}
}

// open reads a file of weights. The reader it returns has further arrays of it. base is the model whose vocabulary and words the
// weights share; nil if they have their own.
func open(file []byte, base *weights) (*weights, *reader, error) {
	rest, ok := bytes.CutPrefix(file, []byte(Magic))
	if !ok || len(rest) < 4 {
		return nil, nil, errors.New("not a file of encoder weights of this version")
	}
	size := int(binary.LittleEndian.Uint32(rest))
	if size > len(rest)-4 {
		return nil, nil, errors.New("the header of the weights is cut off")
	}
	w := &weights{}
	if err := json.Unmarshal(rest[4:4+size], &w.Header); err != nil {
		return nil, nil, fmt.Errorf("read the header of the weights: %w", err)
	}
	if w.Hidden%tileColumns != 0 || w.Inner%tileColumns != 0 || w.Heads <= 0 || w.Hidden%w.Heads != 0 || w.Hidden/w.Heads%panelColumns != 0 ||
		w.Positions < 2 || w.Layers < 1 {
		return nil, nil, fmt.Errorf("a model of %d dimensions, %d heads and %d inner dimensions is not supported", w.Hidden, w.Heads, w.Inner)
	}
	r := &reader{arrays: w.Arrays, body: rest[4+size:]}
	switch _, w.fine = w.Arrays["words.blocks"]; {
	case w.Shares != "" && (base == nil || base.Name != w.Shares || base.Hidden != w.Hidden):
		return nil, nil, fmt.Errorf("these weights are used with the vocabulary of the model %s", w.Shares)
	case w.Shares != "":
		w.vocabulary, w.words, w.fine = base.vocabulary, base.words, base.fine
	default:
		w.vocabulary = strings.Split(strings.TrimSuffix(string(r.bytes("vocabulary", -1)), "\n"), "\n")
		if w.fine {
			w.words = r.bytes("words.blocks", len(w.vocabulary)*w.Hidden/blockValues*blockBytes)
		} else {
			w.words = r.bytes("words", len(w.vocabulary)*w.Hidden)
		}
	}
	w.positions = r.bytes("positions", w.Positions*w.Hidden)
	w.kinds = r.bytes("kind", -1)
	if n := len(w.kinds); n != w.Hidden && n != 2*w.Hidden {
		return nil, nil, errors.New("the array kind has the wrong size")
	}
	scales := r.floats("embedding.scales", 3)
	w.wordScale, w.placeScale, w.kindScale = scales[0], scales[1], scales[2]
	w.embedded = r.norm("embedded", w.Hidden)
	for i := range w.Layers {
		name := fmt.Sprintf("layer.%d.", i)
		w.layers = append(w.layers, layer{
			attend: r.linear(name+"attend", w.Hidden, 3*w.Hidden), project: r.linear(name+"project", w.Hidden, w.Hidden),
			expand: r.linear(name+"expand", w.Hidden, w.Inner), contract: r.linear(name+"contract", w.Inner, w.Hidden),
			attended: r.norm(name+"attended", w.Hidden), done: r.norm(name+"done", w.Hidden),
		})
	}
	return w, r, r.err
}

// A block of a table of words is a scale as a float of 16 bits, and 32 values of four bits with 8 for zero: the
// first half of them in the low bits.
const (
	blockValues = 32
	blockBytes  = 2 + blockValues/2
)

// word sets row to the embedding of a token's word.
func (w *weights) word(token int, row []float32) {
	if !w.fine {
		for j, v := range w.words[token*len(row):][:len(row)] {
			row[j] = float32(int(v)-128) * w.wordScale
		}
		return
	}
	blocks := w.words[token*len(row)/blockValues*blockBytes:]
	for j := 0; j < len(row); j += blockValues {
		scale := half(binary.LittleEndian.Uint16(blocks))
		for i, v := range blocks[2:blockBytes] {
			row[j+i] = float32(int(v&15)-8) * scale
			row[j+i+blockValues/2] = float32(int(v>>4)-8) * scale
		}
		blocks = blocks[blockBytes:]
	}
}

// half returns a float of 16 bits.
func half(bits uint16) float32 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return float32(sign * math.Ldexp(fraction, -24))
	case 31:
		return float32(math.NaN())
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}
