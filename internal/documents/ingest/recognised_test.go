package ingest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
)

// scans is an Extractor of documents with as many pages as their files have lines. A line "picture" is a page without
// text. It puts the pages together as package extract does.
type scans struct{ read []string }

func (s *scans) Extract(_ context.Context, r extract.Request) (*extract.Result, error) {
	s.read = append(s.read, r.Name)
	data, err := os.ReadFile(r.Path)
	if err != nil {
		return nil, err
	}
	d := &extract.Document{Format: "PDF"}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		seen, known := r.Seen[i+1]
		switch {
		case line != "picture":
			d.Pages = append(d.Pages, page(i+1, "p: "+line))
		case !known:
			d.Unread = append(d.Unread, i+1)
			d.Notes = []string{"pages have no text layer"}
		case len(seen.Page.Blocks) > 0:
			d.Pages = append(d.Pages, seen.Page)
		}
	}
	if len(d.Pages) == 0 {
		return nil, &extract.Error{Reason: extract.ScanOnly, Detail: "no page has text", Unread: d.Unread}
	}
	return &extract.Result{Document: d}, nil
}

// scanBench is a bench whose pages of pictures wait for their recognition.
func scanBench(t *testing.T) (b *bench, x *scans, waiting *[]Waiting) {
	b, x, waiting = newBench(t), &scans{}, new([]Waiting)
	b.cfg.Extractor, b.cfg.Workers = x, 1
	b.cfg.Recognition = &Recognition{
		Pages: OpenRecognised(filepath.Join(b.data, "recognised"), "eng"), MaxPages: 3,
		Waiting: func(w Waiting) { *waiting = append(*waiting, w) },
	}
	return b, x, waiting
}

func seenPage(number int, text string) extract.Seen {
	p := page(number, "p: "+text)
	p.Chars = []extract.Run{{Offset: 0, Char: 0}}
	p.Boxes = []extract.CharBox{{Char: 0, Box: extract.Box{X: .25, Y: .5, Width: .125, Height: .0625}}}
	return extract.Seen{Page: p}
}

func TestRun_TextFirst_AndRecognisedPagesWhenTheyAreThere(t *testing.T) {
	b, x, waiting := scanBench(t)
	b.write("mixed.pdf", "words\npicture")
	b.write("scan.pdf", "picture\npicture")
	report := b.run()
	if report.Indexed != 1 || report.Waiting != 2 || len(report.Failed) != 0 || len(*waiting) != 2 {
		t.Fatalf("first run: %+v, waiting %+v", report, *waiting)
	}
	if got := len(b.corpus.doc(t, "mixed.pdf").Pages); got != 1 {
		t.Errorf("the document has %d pages before the recognition", got)
	}
	for _, w := range *waiting {
		if data, err := os.ReadFile(b.cfg.Recognition.Pages.Original(w.SHA256)); err != nil || !strings.Contains(string(data), "picture") {
			t.Errorf("the original of %s: %q, %v", w.Path, data, err)
		}
		for _, number := range w.Pages {
			if err := b.cfg.Recognition.Pages.Put(w.SHA256, number, seenPage(number, "seen")); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.cfg.Recognition.Pages.Done(w.SHA256); err != nil {
			t.Fatal(err)
		}
	}
	*waiting = nil
	report = b.run()
	if report.Indexed != 1 || report.Updated != 1 || report.Waiting != 0 || len(*waiting) != 0 {
		t.Fatalf("after the recognition: %+v, waiting %+v", report, *waiting)
	}
	put := b.corpus.doc(t, "mixed.pdf")
	if len(put.Pages) != 2 || put.Pages[1].Text != "seen" || put.Document.Notes != "" {
		t.Fatalf("%+v", put)
	}
	if p, err := DecodeMap(put.Pages[1].Map); err != nil || len(p.Boxes) != 1 || p.Boxes[0].Box.X != .25 {
		t.Errorf("%+v, %v", p, err)
	}
	x.read = nil
	if report = b.run(); report.Unchanged != 2 || len(x.read) != 0 {
		t.Errorf("another run reads %q: %+v", x.read, report)
	}
}

func TestRun_WhatStillWaitsIsAskedForAgain(t *testing.T) {
	b, _, waiting := scanBench(t)
	b.write("scan.pdf", "picture\npicture")
	b.run()
	sha := (*waiting)[0].SHA256
	if err := b.cfg.Recognition.Pages.Put(sha, 1, seenPage(1, "one")); err != nil {
		t.Fatal(err)
	}
	*waiting = nil
	b.run()
	if len(*waiting) != 1 || !slices.Equal((*waiting)[0].Pages, []int{2}) && len(b.corpus.names()) != 1 {
		t.Errorf("waiting %+v", *waiting)
	}
}

func TestRun_DocumentsOverTheLimitAreLeftAloneUntilItIsRaised(t *testing.T) {
	b, x, waiting := scanBench(t)
	b.write("long.pdf", "words\n"+strings.Repeat("picture\n", 4))
	if report := b.run(); report.Indexed != 1 || len(*waiting) != 0 || len(report.Partly) != 1 || !strings.Contains(report.Partly[0].Detail, "ingest.ocr_pages") {
		t.Fatalf("%+v, waiting %+v", report, *waiting)
	}
	x.read = nil
	if b.run(); len(x.read) != 0 {
		t.Errorf("it is read again with the same settings")
	}
	b.cfg.Recognition.MaxPages = 0
	if b.run(); len(*waiting) != 1 {
		t.Errorf("without a limit, waiting %+v", *waiting)
	}
	b.cfg.Recognition, *waiting = nil, nil
	if report := b.run(); report.Waiting != 0 || len(*waiting) != 0 {
		t.Errorf("without recognition: %+v", report)
	}
}

// What was recognised in one way is recognised anew in another, and stays when nothing is recognised any more.
func TestRun_AnotherWayOfRecognitionReadsScansAnew(t *testing.T) {
	b, x, waiting := scanBench(t)
	b.write("scan.pdf", "words\npicture")
	put := func(text string) {
		t.Helper()
		for _, w := range *waiting {
			if err := b.cfg.Recognition.Pages.Put(w.SHA256, 2, seenPage(2, text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.run()
	put("seen in English")
	b.run()
	x.read, *waiting = nil, nil
	if b.run(); len(x.read) != 0 {
		t.Error("it is read again in the same way")
	}
	was := b.cfg.Recognition
	b.cfg.Recognition = nil
	if b.run(); len(x.read) != 0 {
		t.Error("it is read again without recognition")
	}
	other := *was
	other.Pages = OpenRecognised(filepath.Join(b.data, "recognised"), "deu")
	b.cfg.Recognition = &other
	if b.run(); len(*waiting) != 1 {
		t.Fatalf("in another way, waiting %+v", *waiting)
	}
	put("auf Deutsch gesehen")
	b.run()
	if got := b.corpus.doc(t, "scan.pdf").Pages; len(got) != 2 || got[1].Text != "auf Deutsch gesehen" {
		t.Errorf("%+v", got)
	}
}

func TestRecognisedPages_ForgetDamagedPagesAndSweepWhatHasNoOriginal(t *testing.T) {
	b, _, _ := scanBench(t)
	pages := b.cfg.Recognition.Pages
	sha, _, err := b.blobs.Put(t.Context(), strings.NewReader("there"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{sha, "gone"} {
		for number := range 3 {
			if err := pages.Put(of, number+1, seenPage(number+1, "x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(pages.folder(sha), "2.page"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := pages.Of(sha); len(got) != 2 {
		t.Errorf("%d pages", len(got))
	}
	if err := pages.Sweep(b.blobs, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if len(pages.Of(sha)) != 2 || len(pages.Of("gone")) != 0 {
		t.Errorf("after the sweep: %d and %d pages", len(pages.Of(sha)), len(pages.Of("gone")))
	}
}

func TestDecodeMap_ReturnsBoxesAndRejectsDamage(t *testing.T) {
	p := seenPage(1, "text").Page
	p.Boxes = append(p.Boxes, extract.CharBox{Char: 3, Box: extract.Box{X: 1, Y: 0, Width: 0, Height: 1}})
	whole := encodeMap(p)
	got, err := DecodeMap(whole)
	if err != nil || cmp.Diff(p.Boxes, got.Boxes) != "" || cmp.Diff(p.Chars, got.Chars) != "" {
		t.Fatal(err, got)
	}
	for i := 1; i < len(whole); i++ {
		if cut, err := DecodeMap(whole[:i]); err == nil && len(cut.Boxes) == len(p.Boxes) {
			t.Errorf("a map cut at %d is whole", i)
		}
	}
	plain := page(1, "p: text")
	plain.Chars = p.Chars
	if got, err := DecodeMap(encodeMap(plain)); err != nil || got.Boxes != nil || len(got.Chars) != 1 {
		t.Error(got, err)
	}
}
