package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPage_ReadsDocumentsAsAReaderDoes(t *testing.T) {
	pageTest(t)
	docs := t.TempDir()
	pages := [][]pdfLine{
		{{72, 700, "The first page is about ferries."}},
		{{72, 700, "The seven keepers of Hirsholm left in 1978."}},
		{{72, 700, "The bronze bell weighs ninety kilograms."}},
	}
	if err := os.WriteFile(filepath.Join(docs, "keepers.pdf"), pagePDF(pages...), 0o600); err != nil {
		t.Fatal(err)
	}
	gappy := pagePDF([]pdfLine{{72, 700, "The ferry leaves at nine."}}, nil, []pdfLine{{72, 700, "The ferry returns at five."}})
	if err := os.WriteFile(filepath.Join(docs, "gappy.pdf"), gappy, 0o600); err != nil {
		t.Fatal(err)
	}
	const harbour = "# Harbour\n\nThe harbour dues for sailing boats are 180 kroner a night.\n\nThe harbour dues for motor boats are 240 kroner a night.\n"
	if err := os.WriteFile(filepath.Join(docs, "harbour.md"), []byte(harbour), 0o600); err != nil {
		t.Fatal(err)
	}
	model := startScripted(t, []scriptedAnswer{{text: "The harbour dues for sailing boats are 180 kroner a night. [harbour.md] The harbour dues for motor boats are 240 kroner a night. [harbour.md] "}})
	p := serveWithModel(t, model.URL, docs)
	type size struct{ Width, Height int }
	type look struct{ Frame, Body, Picture size }
	var got struct {
		At, Link, Wanted          string
		Fit, Large, Whole, Turned look
		Thumbnails                int
		FoundAt, Said, Unpaged    string
		Opened, Marks             []string
		Early                     bool
		Spinners                  int
		Unmarked                  struct {
			Marks int
			Notes []string
		}
		Marked struct {
			Marks []string
			At    string
		}
		Seen seenOnPage
	}
	onPage(t, "reader", p.addr, map[string]any{
		"asked": "What are the harbour dues?", "deep": map[string]any{"name": "keepers.pdf", "page": 2, "words": "bronze bell", "unpaged": "harbour.md", "gappy": "gappy.pdf"},
	}, &got)
	got.Seen.check(t)
	if got.At != "2" || got.Link != got.Wanted {
		t.Errorf("the link opens page %s, and is copied as %q, want %q", got.At, got.Link, got.Wanted)
	}
	if !strings.Contains(got.Unpaged, "180 kroner") {
		t.Errorf("a link to a page of a document without pages shows %q", got.Unpaged)
	}
	if opened := strings.Join(got.Opened, " "); opened != "3 3 1" {
		t.Errorf("links to pages 3, 9 and 0 of three open %s", opened)
	}
	if got.Early || got.Spinners > 0 {
		t.Errorf("a picture that isn't drawn yet is shown: %v; %d spinners stay when it is", got.Early, got.Spinners)
	}
	if got.Fit.Frame.Width > got.Fit.Body.Width || got.Large.Frame.Width <= got.Fit.Frame.Width {
		t.Errorf("fitted %+v, larger %+v", got.Fit, got.Large)
	}
	if got.Whole.Frame.Height > got.Whole.Body.Height || got.Whole.Frame.Height >= got.Fit.Frame.Height {
		t.Errorf("the whole page: %+v, by its width %+v", got.Whole, got.Fit)
	}
	if f := got.Turned; f.Frame.Width <= f.Frame.Height || f.Picture != f.Frame {
		t.Errorf("turned: %+v", f)
	}
	if got.Thumbnails != 3 || got.FoundAt != "3" || got.Said != "Found on 1 page" {
		t.Errorf("%d thumbnails; the words are found on page %s: %q", got.Thumbnails, got.FoundAt, got.Said)
	}
	if all := strings.Join(got.Marks, ", "); all != "2 marks, Mark 1 of 2, Mark 2 of 2, Mark 1 of 2" {
		t.Errorf("marks: %s", all)
	}
	if u := got.Unmarked; u.Marks > 0 || len(u.Notes) > 0 {
		t.Errorf("a source opened before the turn has ended shows %d marks and says %q", u.Marks, u.Notes)
	}
	if m := got.Marked; m.At != "Mark 2 of 2" || len(m.Marks) != 1 || !strings.Contains(m.Marks[0], "motor boats") {
		t.Errorf("when the turn has ended, it shows the marks %q at %q", m.Marks, m.At)
	}
}

func TestPage_MarksTheCellsThatAnAnswerComputesWith(t *testing.T) {
	pageTest(t)
	docs := t.TempDir()
	const sales = "Region,Quarter,Revenue\nNorth,Q1,1200\nSouth,Q1,800\nNorth,Q2,1500\nSouth,Q2,950\n"
	if err := os.WriteFile(filepath.Join(docs, "sales.csv"), []byte(sales), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIngested(t, nil, docs)
	var got struct {
		Found []struct {
			Marks []string
			Note  string
		}
		Seen seenOnPage
	}
	onPage(t, "cells", p.addr, map[string]any{"questions": []string{"What is the total revenue of all regions?"}}, &got)
	got.Seen.check(t)
	if len(got.Found) != 1 || strings.Join(got.Found[0].Marks, " ") != "1200 800 1500 950" || got.Found[0].Note != "The answer was computed from the marked cells." {
		t.Errorf("marked %+v", got.Found)
	}
}
