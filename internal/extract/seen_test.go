package extract

import (
	"errors"
	"slices"
	"testing"
)

func page(number int, text string) Page {
	return Page{Number: number, Text: text, Blocks: []Block{{Start: 0, End: len(text)}}, Chars: []Run{{0, 0}}}
}

func TestWithSeen_PutsRecognisedPagesAtTheirPlaces(t *testing.T) {
	f := &File{Seen: map[int]Seen{2: {Page: page(2, "two")}, 3: {Failed: "it takes too long"}, 4: {}}}
	doc, err := f.withSeen(&Document{Pages: []Page{page(1, "one"), page(5, "five")}, Unread: []int{2, 3, 4, 6}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, p := range doc.Pages {
		texts = append(texts, p.Text)
	}
	if !slices.Equal(texts, []string{"one", "two", "five"}) || !slices.Equal(doc.Unread, []int{6}) || len(doc.Notes) != 1 {
		t.Errorf("%q, unread %v, notes %q", texts, doc.Unread, doc.Notes)
	}
}

func TestWithSeen_AddsToThePageOfAnImage(t *testing.T) {
	f := &File{Seen: map[int]Seen{1: {Page: page(0, "on it")}}}
	name := Page{Text: "name", Blocks: []Block{{Start: 0, End: 4}}}
	doc, err := f.withSeen(&Document{Pages: []Page{name}, Unread: []int{1}}, nil)
	if err != nil || len(doc.Pages) != 1 {
		t.Fatal(doc, err)
	}
	p := doc.Pages[0]
	if p.Text != "name\n\non it" || len(p.Blocks) != 2 || p.Text[p.Blocks[1].Start:p.Blocks[1].End] != "on it" {
		t.Errorf("%+v", p)
	}
	if chars := p.CharIndexes(0, len(p.Text)); !slices.Equal(chars, []int{0, 1, 2, 3, 4}) {
		t.Errorf("it has the characters %v", chars)
	}
}

func TestWithSeen_AScanIsADocumentOnceAllItsPagesAreSeen(t *testing.T) {
	refused := func() error { return &Error{Reason: ScanOnly, Detail: "none has text", Unread: []int{1, 2}} }
	for name, c := range map[string]struct {
		seen   map[int]Seen
		reason Reason // "" for a document
	}{
		"nothing":     {nil, ScanOnly},
		"one of two":  {map[int]Seen{1: {Page: page(1, "one")}}, ScanOnly},
		"both":        {map[int]Seen{1: {Page: page(1, "one")}, 2: {}}, ""},
		"blank pages": {map[int]Seen{1: {}, 2: {}}, Empty},
		"failures":    {map[int]Seen{1: {}, 2: {Failed: "too large"}}, ScanOnly},
	} {
		doc, err := (&File{Seen: c.seen}).withSeen(nil, refused())
		e, _ := errors.AsType[*Error](err)
		if (e == nil) != (c.reason == "") || e != nil && e.Reason != c.reason || (err == nil) != (doc != nil) {
			t.Errorf("%s: %v, %v", name, doc, err)
		}
	}
	other := &Error{Reason: Damaged}
	if _, err := (&File{}).withSeen(nil, other); !errors.Is(err, other) {
		t.Errorf("another error becomes %v", err)
	}
}
