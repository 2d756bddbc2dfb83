package ingest

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/lexical/lexicaltest"
)

// edits are small changes of a large document of paragraphs, with the greatest number of chunks whose
// text may change.
var edits = []struct {
	name string
	edit func(paragraphs []string)
	most int
}{
	{"a word at the beginning", func(p []string) { p[0] = "Then " + p[0] }, 4},
	{"a sentence at the beginning", func(p []string) { p[0] = "This sentence was not there before. " + p[0] }, 4},
	{"a paragraph at the beginning", func(p []string) { p[0] = strings.Repeat("New words stand here. ", 40) + "\n\n" + p[0] }, 6},
	{"a sentence in the middle", func(p []string) { p[len(p)/2] += " This sentence was not there before." }, 5},
	{"a paragraph less in the middle", func(p []string) { p[len(p)/2] = "" }, 5},
	{"a word at the end", func(p []string) { p[len(p)-1] += " end" }, 2},
}

// Embeddings belong to texts, so an edit costs as much as the chunks whose text it changes.
func TestSplit_AnEditChangesTheChunksAroundIt(t *testing.T) {
	for _, pages := range []int{1, 100} {
		paragraphs := func() []string {
			g := lexicaltest.New(1)
			all := make([]string, 300)
			for i := range all {
				all[i] = g.Passage()
				if i%5 == 4 {
					all[i] = all[i][:len(all[i])/3]
				}
			}
			return all
		}
		before := chunkTexts(paragraphs(), pages)
		for _, e := range edits {
			edited := paragraphs()
			e.edit(edited)
			changed, total := 0, 0
			for text, n := range chunkTexts(edited, pages) {
				changed += max(n-before[text], 0)
				total += n
			}
			t.Logf("%d pages, %s: %d of %d chunks", pages, e.name, changed, total)
			if changed > e.most {
				t.Errorf("%d pages, %s: %d of %d chunks have another text, want at most %d", pages, e.name, changed, total, e.most)
			}
		}
	}
}

// chunkTexts splits paragraphs on so many pages into chunks, and counts the chunks by text.
func chunkTexts(paragraphs []string, pages int) map[string]int {
	doc := &extract.Document{}
	each := len(paragraphs) / pages
	for i := 0; i < len(paragraphs); i += each {
		p := extract.Page{Number: i/each + 1}
		for _, text := range paragraphs[i : i+each] {
			for part := range strings.SplitSeq(text, "\n\n") {
				start := len(p.Text)
				p.Text += part
				p.Blocks = append(p.Blocks, extract.Block{Kind: extract.Paragraph, Start: start, End: len(p.Text)})
				p.Text += " "
			}
		}
		doc.Pages = append(doc.Pages, p)
	}
	count := map[string]int{}
	for _, c := range Split(doc, SplitOptions{}) {
		count[fmt.Sprint(c.Headings)+c.Text]++
	}
	return count
}
