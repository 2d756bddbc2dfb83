package extracttest

import (
	"encoding/binary"
	"slices"
)

// Thrift encodes a struct in Thrift's compact protocol. Fields are ids and values in turn: an int, a string, a struct as []byte, or
// a list of structs as [][]byte.
func Thrift(fields ...any) []byte {
	var out []byte
	for i := 0; i < len(fields); i += 2 {
		kind, value := byte(0), []byte(nil)
		switch v := fields[i+1].(type) {
		case int:
			kind, value = 6, binary.AppendVarint(nil, int64(v))
		case string:
			kind, value = 8, append(binary.AppendUvarint(nil, uint64(len(v))), v...)
		case []byte:
			kind, value = 12, v
		case [][]byte:
			kind, value = 9, slices.Concat(binary.AppendUvarint([]byte{0xfc}, uint64(len(v))), slices.Concat(v...))
		}
		out = append(binary.AppendVarint(append(out, kind), int64(fields[i].(int))), value...)
	}
	return append(out, 0)
}

// ParquetPage is a page of values; with encoding PLAIN_DICTIONARY (2) and no values it is a dictionary of n entries. packed is
// the content in the file, which unpacks to size bytes.
func ParquetPage(kind, n, encoding, size int, packed []byte) []byte {
	head := Thrift(1, n, 2, encoding, 3, 3, 4, 3)
	field := 5
	if kind == 2 {
		field, head = 7, Thrift(1, n, 2, encoding)
	}
	return append(Thrift(1, kind, 2, size, 3, len(packed), field, head), packed...)
}

// Parquet is a table with a column "a" of optional (1) or required (0) texts.
func Parquet(optional, codec, rows int, pages ...[]byte) []byte {
	schema := [][]byte{Thrift(4, "schema", 5, 1), Thrift(1, 6, 3, optional, 4, "a", 6, 0)}
	column := Thrift(2, 4, 3, Thrift(1, 6, 4, codec, 5, rows, 6, 1, 7, 1, 9, 4))
	return ParquetFooter(slices.Concat(pages...), Thrift(1, 1, 2, schema, 3, rows, 4, [][]byte{Thrift(1, [][]byte{column}, 2, 1, 3, rows)}))
}

// ParquetFooter is a file of pages and a footer.
func ParquetFooter(pages, footer []byte) []byte {
	return slices.Concat([]byte("PAR1"), pages, footer, binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), []byte("PAR1"))
}
