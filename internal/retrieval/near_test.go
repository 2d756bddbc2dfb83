package retrieval_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/retrieval"
)

// report has a page for each text, after pages about other things.
func report(name string, texts ...string) retrieval.Put {
	var pages []string
	for i := range 12 {
		pages = append(pages, fmt.Sprintf("Page %d speaks of weather, roads and harbours, and of nothing else that matters.", i))
	}
	return document(name, append(pages, texts...)...)
}

// first returns the text of the best passage.
func (w *world) first(question string) string {
	w.Helper()
	res := w.ask(question)
	if len(res.Passages) == 0 {
		w.Fatalf("%q finds nothing", question)
	}
	return res.Passages[0].Chunk.Text
}

const balanceSheet = "Consolidated Balance Sheets\n\nInventories | 5,409 | 5,209\nReceivables | 1,015 | 1,049\nTotal of inventories and other current assets, as of February | 8,881 | 9,829"

// Pages that repeat a question's words come behind the page that has the title which the question names.
func TestSearch_PrefersThePageWhoseHeadingTheQuestionNames(t *testing.T) {
	w := newWorld(t)
	w.put(report("annual.pdf",
		"Inventories: the total amount of inventories is a matter of judgement. The amount of inventories, in total, is on the sheet.",
		balanceSheet,
		"Risks: the amount of inventories may fall, and the total with it. Inventories are insured, and the balance of the total amount is not."))
	for _, question := range []string{
		"What is the total amount of inventories on the balance sheet?",
		"What is the total amount of inventories in the statement of financial position?", // which means the same
	} {
		if got := w.first(question); got != balanceSheet {
			t.Errorf("%q finds %q first", question, got)
		}
	}
}

// The title may be a heading that the extractor has found, above another chunk of the page.
func TestSearch_HeadingsCountForTheirWholePage(t *testing.T) {
	w := newWorld(t)
	p := report("annual.pdf",
		"The total of inventories is a matter of judgement: inventories are counted twice.")
	top, rest := "Receivables | 1,015 | 1,049", "Total of inventories and other current assets, as of February | 8,881 | 9,829"
	for _, s := range []string{top, rest} {
		p.Chunks = append(p.Chunks, retrieval.Chunk{Text: s, Headings: []string{"Consolidated Balance Sheets"},
			Spans: []retrieval.Span{{Page: 14, End: len(s)}}, Tokens: 10})
	}
	p.Chunks[len(p.Chunks)-1].Headings = nil
	p.Pages = append(p.Pages, retrieval.Page{Number: 14, Text: top + "\n" + rest})
	w.put(p)
	if got := w.first("What is the total of inventories on the balance sheet?"); got != rest {
		t.Errorf("%q comes first", got)
	}
}

// Of pages that hold the same words, the one comes first on which they stand together as in the question.
func TestSearch_PrefersThePageWhereTheWordsStandTogether(t *testing.T) {
	apart := "The margin of safety grew. " + strings.Repeat("Nothing else happened there that day. ", 4) + "Operating the crane is safe, operating it twice is too."
	together := strings.Repeat("Nothing else happened there that day. ", 4) + "The operating margin grew, and the crane is safe and so is safety too."
	for _, order := range [][]string{{apart, together}, {together, apart}} {
		w := newWorld(t)
		w.put(report("annual.pdf", order...))
		if got := w.first("What is the operating margin?"); got != together {
			t.Errorf("%q comes first", got)
		}
	}
}
