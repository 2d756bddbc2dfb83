package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropSections_TakesHeadingAndAllBelowIt(t *testing.T) {
	const source = "Intro.\n\n# One\n\nKept.\n\n## See  also\n\nGone.\n\n### Deeper\n\nGone too.\n\n## Two\n\nKept again.\n\n# Notes\n\nGone.\n"
	read := func(names ...string) (text string, blocks []string) {
		doc, err := ReadFile(t.Context(), "a.md", strings.NewReader(source), int64(len(source)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		doc.DropSections(names)
		p := doc.Pages[0]
		for _, b := range p.Blocks {
			blocks = append(blocks, p.Text[b.Start:b.End])
		}
		return p.Text, blocks
	}
	text, blocks := read("SEE ALSO", " notes ", "nowhere")
	want := []string{"Intro.", "One", "Kept.", "Two", "Kept again."}
	if diff := cmp.Diff(want, blocks); diff != "" || strings.Contains(text, "Gone") {
		t.Errorf("%q (-want +got):\n%s", text, diff)
	}
	if got := strings.Fields(text); !cmp.Equal(got, strings.Fields(strings.Join(want, " "))) {
		t.Errorf("words outside of the blocks: %q", text)
	}
	whole, all := read()
	if len(all) != 11 || !strings.Contains(whole, "Deeper") {
		t.Errorf("without names: %q", all)
	}
}

func TestDropSections_GoesOnOverPages(t *testing.T) {
	page := func(n int, heading string, level int, body string) Page {
		text := heading + "\n" + body
		return Page{Number: n, Text: text, Blocks: []Block{
			{Kind: Heading, Level: level, End: len(heading)}, {Start: len(heading) + 1, End: len(text)},
		}}
	}
	doc := &Document{Pages: []Page{page(1, "Notes", 1, "gone"), page(2, "Sub", 2, "gone"), page(3, "Next", 1, "kept")}}
	doc.DropSections([]string{"notes"})
	var got []string
	for _, p := range doc.Pages {
		got = append(got, p.Text)
	}
	if diff := cmp.Diff([]string{"", "", "Next\nkept"}, got); diff != "" {
		t.Error(diff)
	}
	mapped := &Document{Pages: []Page{{Text: "Notes\nx", Chars: []Run{{}}, Blocks: []Block{{Kind: Heading, Level: 1, End: 5}, {Start: 6, End: 7}}}}}
	if mapped.DropSections([]string{"notes"}); mapped.Pages[0].Text != "Notes\nx" {
		t.Error("a page with a map of characters was cut")
	}
}
