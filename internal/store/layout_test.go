package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/retrieval"
)

func TestLayout_KeepsWhatItIsGiven(t *testing.T) {
	for _, c := range []struct {
		spans    []retrieval.Span
		headings []string
	}{
		{nil, nil},
		{[]retrieval.Span{{}}, []string{""}},
		{[]retrieval.Span{{Page: 7, Start: 100_000, End: 101_000}}, []string{"A", "Über", "漢"}},
		{[]retrieval.Span{{Page: 1, Start: 900, End: 990}, {Page: 2, End: 5, Offset: 95}, {Page: 2, Start: 3, End: 9, Offset: 40}}, nil},
		{[]retrieval.Span{{Page: 1 << 20, Start: 1 << 40, End: 1 << 41, Offset: 1 << 39}}, nil},
	} {
		spans, headings, err := decodeLayout(encodeLayout(c.spans, c.headings))
		if diff := cmp.Diff(c.spans, spans); diff != "" || err != nil {
			t.Errorf("spans: %v\n%s", err, diff)
		}
		if diff := cmp.Diff(c.headings, headings, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("headings:\n%s", diff)
		}
	}
	// A typical chunk, a kilobyte from the middle of a page, has a small layout.
	b := encodeLayout([]retrieval.Span{{Page: 3, Start: 2100, End: 3100}}, nil)
	if len(b) > 10 {
		t.Errorf("a single span takes %d bytes", len(b))
	}
}

func TestRevisions_KeepWhatTheyAreGiven(t *testing.T) {
	for _, want := range [][]int64{nil, {1}, {1, 2, 3, 1000, 1 << 50}} {
		got, err := decodeRevisions(encodeRevisions(want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func FuzzDecodeLayout(f *testing.F) {
	f.Add(encodeLayout([]retrieval.Span{{Page: 1, Start: 2, End: 9, Offset: 3}}, []string{"a", "bc"}))
	f.Add([]byte{layoutVersion, 255, 255, 255, 255, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		spans, headings, err := decodeLayout(b)
		if err != nil {
			return
		}
		again, same, err := decodeLayout(encodeLayout(spans, headings))
		if err != nil || !cmp.Equal(spans, again) || !cmp.Equal(headings, same) {
			t.Errorf("%v %q became %v %q: %v", spans, headings, again, same, err)
		}
	})
}

func FuzzDecodeRevisions(f *testing.F) {
	f.Add(encodeRevisions([]int64{1, 5, 9}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if revisions, err := decodeRevisions(b); err == nil {
			if again, err := decodeRevisions(encodeRevisions(revisions)); err != nil || !cmp.Equal(revisions, again) {
				t.Errorf("%v became %v: %v", revisions, again, err)
			}
		}
	})
}
