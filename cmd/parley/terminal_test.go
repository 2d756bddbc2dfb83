package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/documents/ingest"
)

func TestWrapper_BreaksAtSpacesHoweverTheTextComes(t *testing.T) {
	text := "one two  three four\n\n  five \u00fcberlangeswort six\nend"
	want := "one two\nthree four\n\n  five\n  \u00fcberlangeswort\n  six\nend\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := &wrapper{w: &out, width: 10}
		for rest := []rune(text); len(rest) > 0; {
			n := min(size, len(rest))
			w.add(string(rest[:n]))
			rest = rest[n:]
		}
		w.end()
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Fatalf("in pieces of %d:\n%s", size, diff)
		}
	}
}

// Widths are those of terminals; an emoji of several code points is one character, and no line
// begins with a full stop or ends with an opening bracket.
func TestWrapper_CountsColumns(t *testing.T) {
	for text, want := range map[string]string{
		"年次休暇は三十日です。申請は上司へ。":               "年次休暇は\n三十日で\nす。申請は\n上司へ。\n",
		"他说「好的好的」。":                        "他说「好的\n好的」。\n",
		"한국어 텍스트 줄바꿈":                      "한국어\n텍스트\n줄바꿈\n",
		"ab 👩‍👩‍👧‍👦 cd 👍🏽 ef 🇩🇪 gh":        "ab 👩‍👩‍👧‍👦 cd\n👍🏽 ef 🇩🇪\ngh\n",
		"cafe\u0301 cafe\u0301 cafe\u0301": "cafe\u0301 cafe\u0301\ncafe\u0301\n",
		"  二十日まで\n三":                       "  二十日ま\n  で\n三\n",
		"see[報告.pdf]":                      "see[報\n告.pdf]\n",
	} {
		for size := 1; size <= len(text); size++ {
			var out bytes.Buffer
			w := &wrapper{w: &out, width: 10}
			for rest := []rune(text); len(rest) > 0; {
				n := min(size, len(rest))
				w.add(string(rest[:n]))
				rest = rest[n:]
			}
			w.end()
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Fatalf("%q in pieces of %d:\n%s", text, size, diff)
			}
		}
	}
}

func TestWrapper_WithoutATerminalWritesTheTextAsItIs(t *testing.T) {
	var out bytes.Buffer
	w := &wrapper{w: &out}
	w.add("a  b\n\tc")
	w.add(" d")
	w.end()
	w.end()
	if got := out.String(); got != "a  b\n\tc d\n" {
		t.Errorf("wrote %q", got)
	}
}

func TestWrapper_KeepsDocumentsFromRulingTheTerminal(t *testing.T) {
	var out bytes.Buffer
	w := &wrapper{w: &out, width: 80, clean: true}
	w.add("red \x1b[31malert\x07 \u009b2J")
	w.end()
	if got := out.String(); got != "red [31malert 2J\n" {
		t.Errorf("wrote %q", got)
	}
}

func TestDisplay_PrintsPlainLinesNowAndThenWhereThereIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	d := newDisplay(&out, func() time.Time { return now })
	for i := range 12 {
		now = time.Unix(int64(i), 0)
		d.Update(ingest.Progress{FilesTotal: 40, FilesDone: 2 * i, PagesDone: 4 * i, ChunksDone: i, Rate: 4, ETA: 7400 * time.Millisecond})
	}
	d.Finish()
	now = time.Unix(100, 0)
	d.Update(ingest.Progress{FilesTotal: 40, FilesDone: 40})
	want := "ingesting: 10/40 files, 20 pages, 5 chunks, 4.0 pages/s, 7s left\n" +
		"ingesting: 20/40 files, 40 pages, 10 chunks, 4.0 pages/s, 7s left\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDisplay_KeepsLogLinesApartFromTheBar(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	d := newDisplay(&out, func() time.Time { return now })
	d.width = 59
	now = now.Add(2 * time.Second)
	d.Update(ingest.Progress{FilesTotal: 10, FilesDone: 4, PagesDone: 7, ChunksDone: 21, Rate: 3.5, ETA: time.Second})
	now = now.Add(time.Millisecond)
	d.Update(ingest.Progress{FilesTotal: 10, FilesDone: 5}) // too soon to be shown
	if _, err := d.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	d.Finish()
	if _, err := d.Write([]byte("after\n")); err != nil {
		t.Fatal(err)
	}
	const bar = "\r\x1b[K[####------] 4/10 files, 7 pages, 21 chunks, 3.5 pages/s, "
	want := bar + "\r\x1b[Ka log line\n" + bar + "\r\x1b[Kafter\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
