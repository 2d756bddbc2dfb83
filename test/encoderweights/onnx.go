package main

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of onnx.proto (https://github.com/onnx/onnx, IR version 8) that are read here.
const (
	modelGraph                                                  = 7
	graphNode, graphInitializer                                 = 1, 5
	nodeInput, nodeName, nodeOp                                 = 1, 3, 4
	tensorDims, tensorFloats, tensorInts, tensorName, tensorRaw = 1, 4, 5, 8, 9
)

type node struct {
	name, op string
	inputs   []string
}

type tensor struct {
	dims []int
	raw  []byte
}

type graph struct {
	nodes   []node
	tensors map[string]tensor
}

// each calls do for every field of a message.
func each(message []byte, do func(field protowire.Number, value []byte, number uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := do(field, value, number); err != nil {
			return err
		}
	}
	return nil
}

func readGraph(file []byte) (graph, error) {
	g := graph{tensors: map[string]tensor{}}
	err := each(file, func(field protowire.Number, value []byte, _ uint64) error {
		if field != modelGraph {
			return nil
		}
		return each(value, func(field protowire.Number, value []byte, _ uint64) error {
			switch field {
			case graphNode:
				return g.addNode(value)
			case graphInitializer:
				return g.addTensor(value)
			}
			return nil
		})
	})
	return g, err
}

func (g *graph) addNode(message []byte) error {
	var n node
	err := each(message, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case nodeInput:
			n.inputs = append(n.inputs, string(value))
		case nodeName:
			n.name = string(value)
		case nodeOp:
			n.op = string(value)
		}
		return nil
	})
	g.nodes = append(g.nodes, n)
	return err
}

func (g *graph) addTensor(message []byte) error {
	var t tensor
	var name string
	err := each(message, func(field protowire.Number, value []byte, number uint64) error {
		switch field {
		case tensorDims:
			if value == nil {
				t.dims = append(t.dims, int(number))
				break
			}
			for len(value) > 0 { // packed
				d, n := protowire.ConsumeVarint(value)
				if n < 0 {
					return protowire.ParseError(n)
				}
				t.dims, value = append(t.dims, int(d)), value[n:]
			}
		case tensorName:
			name = string(value)
		case tensorRaw, tensorFloats:
			t.raw = value
		case tensorInts: // bytes, one by one or packed
			if value == nil {
				t.raw = append(t.raw, byte(number))
			}
			for len(value) > 0 {
				b, n := protowire.ConsumeVarint(value)
				if n < 0 {
					return protowire.ParseError(n)
				}
				t.raw, value = append(t.raw, byte(b)), value[n:]
			}
		}
		return nil
	})
	g.tensors[name] = t
	return err
}

func (g *graph) bytes(name string, dims ...int) []byte {
	t, ok := g.tensors[name]
	size := 1
	for _, d := range dims {
		size *= d
	}
	if !ok || fmt.Sprint(t.dims) != fmt.Sprint(dims) || len(t.raw)%size != 0 {
		panic(fmt.Sprintf("%s has the shape %v, not %v", name, t.dims, dims))
	}
	return t.raw
}

func (g *graph) floats(name string, dims ...int) []float32 {
	raw := g.bytes(name, dims...)
	all := make([]float32, len(raw)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return all
}
