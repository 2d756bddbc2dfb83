package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"parley/internal/extract"
)

// column reads the values of a column in one group of rows.
type column struct {
	*leaf
	t          *table
	at         int64 // of the next page in the file
	left       int64 // values in pages that have not been read
	codec      int64
	dictionary []string
	held       int64 // bytes of the page

	inPage   int64 // values left of the page
	rep, def hybrid
	values   values

	peeked bool // level is the repetition level of the next value
	level  uint64
}

// row returns the value of a column in the next row. It joins the items of a list.
func (c *column) row() (string, error) {
	if c.maxRep == 0 {
		ok, err := c.peek()
		if err == nil && !ok {
			err = broken()
		}
		if err != nil {
			return "", err
		}
		cell, _, err := c.value()
		return cell, err
	}
	var b strings.Builder
	for items := 0; ; {
		ok, err := c.peek()
		if err == nil && !ok && items == 0 {
			err = broken()
		}
		if err != nil {
			return "", err
		}
		if !ok || c.level == 0 && items > 0 {
			return b.String(), nil
		}
		cell, def, err := c.value()
		if err != nil {
			return "", err
		}
		if items++; def < c.itemDef {
			continue // the list is empty or missing
		}
		if def < c.maxDef {
			cell = "null"
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if b.WriteString(cell); int64(b.Len()) > c.t.limits.TextBytes {
			return "", c.t.limits.TextExceeded()
		}
	}
}

// peek reads the repetition level of the next value; false if there is none.
func (c *column) peek() (bool, error) {
	if c.peeked {
		return true, nil
	}
	const mostEmpty = 1000 // pages without values, one after the other
	for empty := 0; c.inPage == 0; empty++ {
		if c.left <= 0 {
			return false, nil
		}
		if empty > mostEmpty {
			return false, broken()
		}
		if err := c.page(); err != nil {
			return false, err
		}
	}
	c.inPage--
	var err error
	if c.maxRep > 0 {
		c.level, err = c.rep.next()
	}
	c.peeked = true
	return true, err
}

// value returns the value after peek, and its definition level. A level below the highest means that there is no value.
func (c *column) value() (cell string, def uint64, err error) {
	c.peeked = false
	if c.maxDef > 0 {
		if def, err = c.def.next(); err != nil || def != c.maxDef {
			return "", def, err
		}
	}
	cell, err = c.values()
	return cell, def, err
}

// The kinds of page.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPageV2     = 3
)

// page goes to the next page.
func (c *column) page() error {
	head, err := c.head()
	if err != nil {
		return err
	}
	unpacked, packed := head.get(2).n, head.get(3).n
	if !head.has(1) || unpacked < 0 || unpacked > math.MaxUint32 || packed < 0 || packed > c.t.size-c.at {
		return broken()
	}
	if err := c.hold(unpacked + packed); err != nil {
		return err
	}
	data := make([]byte, packed)
	if _, err := c.t.file.ReadAt(data, c.at); err != nil {
		return broken()
	}
	c.at += packed
	switch head.get(1).n {
	case dataPage:
		if data, err = unpack(c.codec, data, unpacked); err != nil {
			return err
		}
		return c.data(head.get(5), data, false)
	case dictionaryPage:
		if data, err = unpack(c.codec, data, unpacked); err != nil {
			return err
		}
		return c.readDictionary(head.get(7).get(1).n, data)
	case dataPageV2:
		v2 := head.get(8)
		levels := v2.get(5).n + v2.get(6).n
		if min(v2.get(5).n, v2.get(6).n) < 0 || max(v2.get(5).n, v2.get(6).n) > packed || levels > packed || levels > unpacked {
			return broken()
		}
		if packed > levels && (!v2.has(7) || v2.get(7).n != 0) {
			behind, err := unpack(c.codec, data[levels:], unpacked-levels)
			if err != nil {
				return err
			}
			data = append(data[:levels:levels], behind...)
		}
		return c.data(v2, data, true)
	}
	return nil // an index
}

// head reads the header of a page. The file does not give its size.
func (c *column) head() (node, error) {
	for size := int64(1 << 10); c.at >= 0 && c.at < c.t.size; size <<= 4 {
		window := make([]byte, min(size, c.t.size-c.at))
		if _, err := c.t.file.ReadAt(window, c.at); err != nil {
			break
		}
		t := thrift{data: window, nodes: 10_000}
		head := t.value(thriftStruct, false)
		if !t.broken {
			c.at += int64(t.at)
			return head, nil
		}
		if size >= 16<<20 || int64(len(window)) < size {
			break
		}
	}
	return node{}, broken()
}

// hold reserves the memory of a page, and releases that of the previous page.
func (c *column) hold(n int64) error {
	c.t.held += n - c.held
	if c.held = n; c.t.held > c.t.limits.MemoryBytes/4 {
		return extract.TooLargef("its columns need more than %s at a time", extract.Megabytes(c.t.limits.MemoryBytes/4))
	}
	return nil
}

func (c *column) readDictionary(n int64, data []byte) error {
	const entry = 32 // bytes of an entry, without its text
	if n < 0 || n > c.t.limits.TextBytes {
		return broken()
	}
	next, size := c.plain(data), n*entry
	c.dictionary = make([]string, 0, min(n, int64(len(data))))
	for ; n > 0; n-- {
		cell, err := next()
		if err != nil {
			return err
		}
		size += int64(len(cell))
		c.dictionary = append(c.dictionary, cell)
	}
	c.t.held += size // until the end of the group
	return c.hold(0)
}

// data reads a page of values. head is a DataPageHeader or a DataPageHeaderV2.
func (c *column) data(head node, data []byte, v2 bool) error {
	n, encoding := head.get(1).n, head.get(2).n
	repSize, defSize := int64(-1), int64(-1) // unknown: the sizes precede the levels
	if v2 {
		encoding, defSize, repSize = head.get(4).n, head.get(5).n, head.get(6).n
	}
	// A cell takes at least a byte in a text of delimited values, which also may have TextBytes bytes.
	if c.t.cells += n; n < 0 || n > c.t.limits.TextBytes || c.t.cells > c.t.limits.TextBytes {
		return c.t.limits.TextExceeded()
	}
	c.inPage, c.left = n, c.left-n
	var err error
	if c.rep, data, err = levels(data, c.maxRep, repSize, n, !v2 && head.get(4).n == bitPacked); err != nil {
		return err
	}
	if c.def, data, err = levels(data, c.maxDef, defSize, n, !v2 && head.get(3).n == bitPacked); err != nil {
		return err
	}
	c.values, err = c.decode(encoding, data, n)
	return err
}

// levels returns the levels, which are at most highest, and the data after them.
func levels(data []byte, highest uint64, size, n int64, packed bool) (hybrid, []byte, error) {
	h := hybrid{width: uint(bits.Len64(highest))}
	switch {
	case packed && highest > 0: // a form that has not been used since 2013
		size = (n*int64(h.width) + 7) / 8
		h.left, h.packed, h.reversed = uint64(n), true, true
	case size < 0 && highest > 0:
		if len(data) < 4 {
			return h, nil, broken()
		}
		size, data = int64(binary.LittleEndian.Uint32(data)), data[4:]
	}
	if size > int64(len(data)) {
		return h, nil, broken()
	}
	size = max(size, 0)
	h.data = data[:size]
	return h, data[size:], nil
}

// The encodings.
const (
	plain           = 0
	plainDictionary = 2
	runLength       = 3
	bitPacked       = 4
	deltaNumbers    = 5
	deltaLengths    = 6
	deltaBytes      = 7
	dictionary      = 8
	byteStreamSplit = 9
)

func (c *column) decode(encoding int64, data []byte, n int64) (values, error) {
	isNumber := c.physical == int32s || c.physical == int64s
	isBytes := c.physical == byteArrays || c.physical == fixedBytes
	switch {
	case encoding == plain:
		return c.plain(data), nil
	case encoding == plainDictionary || encoding == dictionary:
		return ofDictionary(data, c.dictionary), nil
	case encoding == runLength && c.physical == boolean:
		h, _, err := levels(data, 1, -1, n, false)
		return func() (string, error) {
			v, err := h.next()
			return c.show(raw{n: v}), err
		}, err
	case encoding == deltaNumbers && isNumber:
		return c.deltaNumbers(data, n)
	case encoding == deltaLengths && isBytes:
		return c.deltaLengths(data, n)
	case encoding == deltaBytes && isBytes:
		return c.deltaBytes(data, n, c.t.limits.MemoryBytes/4)
	case encoding == byteStreamSplit && c.physical != boolean && c.physical != byteArrays:
		return c.split(data), nil
	}
	return nil, &extract.Error{Reason: extract.Unsupported, Detail: "its values are stored in a way that is not read"}
}

// unpack returns size bytes.
func unpack(codec int64, data []byte, size int64) (out []byte, err error) {
	var r io.Reader
	switch codec {
	case 0:
		return data, nil
	case 1:
		if n, err := snappy.DecodedLen(data); err != nil || int64(n) != size {
			return nil, broken()
		}
		if out, err = snappy.Decode(nil, data); err != nil {
			return nil, broken()
		}
		return out, nil
	case 2:
		r, err = gzip.NewReader(bytes.NewReader(data))
	case 4:
		r = brotli.NewReader(bytes.NewReader(data))
	case 5:
		if out := unpackHadoop(data, size); out != nil {
			return out, nil
		}
		return unpackLZ4(data, size)
	case 6:
		d, openErr := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(mostBytes))
		if err = openErr; err == nil {
			defer d.Close()
			r = d
		}
	case 7:
		return unpackLZ4(data, size)
	default:
		return nil, &extract.Error{Reason: extract.Unsupported, Detail: "it is compressed in a way that is not read"}
	}
	if err != nil {
		return nil, broken()
	}
	out = make([]byte, size)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, broken()
	}
	return out, nil
}

func unpackLZ4(data []byte, size int64) ([]byte, error) {
	out := make([]byte, size)
	if n, err := lz4.UncompressBlock(data, out); err != nil || int64(n) != size {
		return nil, broken()
	}
	return out, nil
}

// unpackHadoop unpacks LZ4 as Hadoop writes it: both sizes of a block, then the block. It returns nil for data in another form.
func unpackHadoop(data []byte, size int64) []byte {
	var out []byte
	for len(data) > 8 {
		unpacked, packed := int64(binary.BigEndian.Uint32(data)), int64(binary.BigEndian.Uint32(data[4:]))
		if unpacked > size-int64(len(out)) || packed > int64(len(data)-8) {
			return nil
		}
		block, err := unpackLZ4(data[8:8+packed], unpacked)
		if err != nil {
			return nil
		}
		out, data = append(out, block...), data[8+packed:]
	}
	if int64(len(out)) != size {
		return nil
	}
	return out
}
