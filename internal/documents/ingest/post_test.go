package ingest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
)

func TestPost_GivesTheChunksOfSplit(t *testing.T) {
	d := doc(
		page(1, "h1: Title", "p: "+prose("left", 30)+" The plan covers"),
		page(2, "p: glasses. "+prose("right", 2), "th: A | B", "tr: 1 | 2"))
	want := Split(d, SplitOptions{})
	b, err := Post(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeChunks(b, d.Pages, SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := range b {
		// A cut may fall between two chunks, but must not give anything else.
		if chunks, err := decodeChunks(b[:n], d.Pages, SplitOptions{}); err == nil && !cmp.Equal(chunks, want[:len(chunks)]) {
			t.Errorf("the first %d bytes gave %+v", n, chunks)
		}
	}
}

func TestPost_RefusesADocumentWithoutText(t *testing.T) {
	if _, err := Post(doc(page(1)), nil); err == nil {
		t.Error("no error")
	}
}

func FuzzDecodeChunks(f *testing.F) {
	d := doc(page(1, "h1: Title", "p: "+prose("left", 30)), page(2, "p: "+prose("right", 3)))
	b, err := Post(d, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{1, 5, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, pages := range [][]extract.Page{d.Pages, nil} {
			chunks, err := decodeChunks(b, pages, SplitOptions{})
			if err != nil {
				continue
			}
			for _, c := range chunks {
				for _, s := range c.Spans {
					if c.Text[s.Offset:s.Offset+s.End-s.Start] != pages[s.Page-1].Text[s.Start:s.End] {
						t.Errorf("%+v", c)
					}
				}
			}
		}
	})
}
