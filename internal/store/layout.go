package store

import (
	"encoding/binary"
	"errors"

	"parley/internal/retrieval"
)

// A chunk's layout is a version byte, 1, followed by unsigned varints: the number of spans; for
// each span its page, its length, and the signed distances of its start and offset from the end of
// the previous span; the number of headings; for each heading its length and bytes. A chunk with
// one span takes about 8 bytes, where JSON takes 50.
const layoutVersion = 1

var errLayout = errors.New("malformed chunk layout")

func encodeLayout(spans []retrieval.Span, headings []string) []byte {
	b := append(make([]byte, 0, 64), layoutVersion)
	b = binary.AppendUvarint(b, uint64(len(spans)))
	end, offset := 0, 0
	for _, s := range spans {
		b = binary.AppendUvarint(b, uint64(s.Page))
		b = binary.AppendVarint(b, int64(s.End-s.Start))
		b = binary.AppendVarint(b, int64(s.Start-end))
		b = binary.AppendVarint(b, int64(s.Offset-offset))
		end, offset = s.End, s.Offset+s.End-s.Start
	}
	b = binary.AppendUvarint(b, uint64(len(headings)))
	for _, h := range headings {
		b = binary.AppendUvarint(b, uint64(len(h)))
		b = append(b, h...)
	}
	return b
}

func decodeLayout(b []byte) (spans []retrieval.Span, headings []string, err error) {
	if len(b) == 0 || b[0] != layoutVersion {
		return nil, nil, errLayout
	}
	r := reader{rest: b[1:]}
	n := r.count()
	end, offset := 0, 0
	for range n {
		s := retrieval.Span{Page: r.count()}
		length := r.int()
		s.Start = end + r.int()
		s.End = s.Start + length
		s.Offset = offset + r.int()
		end, offset = s.End, s.Offset+length
		spans = append(spans, s)
		if r.failed {
			return nil, nil, errLayout
		}
	}
	n = r.count()
	for range n {
		headings = append(headings, r.string())
		if r.failed {
			return nil, nil, errLayout
		}
	}
	if r.failed || len(r.rest) > 0 {
		return nil, nil, errLayout
	}
	return spans, headings, nil
}

var errRevisions = errors.New("malformed list of revisions")

// encodeRevisions writes ascending numbers as varints of their differences.
func encodeRevisions(revisions []int64) []byte {
	b := make([]byte, 0, 2*len(revisions)+4)
	last := int64(0)
	for _, r := range revisions {
		b = binary.AppendVarint(b, r-last)
		last = r
	}
	return b
}

func decodeRevisions(b []byte) ([]int64, error) {
	var all []int64
	r := reader{rest: b}
	last := int64(0)
	for len(r.rest) > 0 {
		last += int64(r.int())
		if r.failed {
			return nil, errRevisions
		}
		all = append(all, last)
	}
	return all, nil
}

// reader reads values from a byte slice. After a failure all values are zero.
type reader struct {
	rest   []byte
	failed bool
}

// count reads a number of elements or a page number.
func (r *reader) count() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<31 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) int() int {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) string() string {
	n := r.count()
	if n > len(r.rest) {
		r.failed, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
