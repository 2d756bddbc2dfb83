package ingest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
)

func TestRuns_SurviveEncoding(t *testing.T) {
	for _, runs := range [][]extract.Run{
		nil,
		{{Offset: 0, Char: 0}},
		{{Offset: 0, Char: -1}, {Offset: 1, Char: 17}, {Offset: 80, Char: -1}, {Offset: 81, Char: 99}},
		{{Offset: 3, Char: 500}, {Offset: 4, Char: 2}, {Offset: 5, Char: 1 << 30}},
	} {
		got, err := DecodeRuns(encodeRuns(runs))
		if err != nil {
			t.Fatalf("%v: %v", runs, err)
		}
		if diff := cmp.Diff(runs, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEncodeRuns_TakesTwoBytesForAWrappedLine(t *testing.T) {
	var runs []extract.Run
	for i := range 40 {
		// 60 characters a line; PDFium has two where the text has one line break.
		runs = append(runs, extract.Run{Offset: i * 61, Char: i * 62})
	}
	if n := len(encodeRuns(runs)); n > 1+2*len(runs) {
		t.Errorf("%d runs took %d bytes", len(runs), n)
	}
}

func TestDecodeRuns_RejectsDamage(t *testing.T) {
	whole := encodeRuns([]extract.Run{{Offset: 0, Char: 5}, {Offset: 300, Char: 9000}})
	for _, b := range [][]byte{{2}, whole[:len(whole)-1], {1, 0x80}, {1, 0, 2}} {
		if runs, err := DecodeRuns(b); err == nil {
			t.Errorf("% x gave %v", b, runs)
		}
	}
}

func FuzzDecodeRuns(f *testing.F) {
	f.Add(encodeRuns([]extract.Run{{Offset: 0, Char: 5}, {Offset: 9, Char: -1}, {Offset: 300, Char: 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, err := DecodeRuns(b)
		if err != nil || len(runs) == 0 {
			return
		}
		again, err := DecodeRuns(encodeRuns(runs))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(runs, again); diff != "" {
			t.Error(diff)
		}
	})
}
