package eval

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// addPages puts a document into the corpus; without a page break it is one without pages.
func (p *product) addPages(t *testing.T, name, text string) {
	t.Helper()
	doc := &extract.Document{Title: name}
	put := retrieval.Put{Document: retrieval.Document{
		ID: name, Namespace: p.Namespace, Name: name, Title: name, MediaType: "text/plain", IndexedAt: time.Now(),
	}}
	pages := strings.Split(text, "\f")
	for i, page := range pages {
		number := i + 1
		if len(pages) == 1 {
			number = 0
		}
		doc.Pages = append(doc.Pages, extract.Page{
			Number: number, Text: page, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(page)}},
		})
		put.Pages = append(put.Pages, retrieval.Page{Number: number, Text: page})
	}
	put.Chunks = ingest.Split(doc, ingest.SplitOptions{Min: 16})
	err := p.Corpus.Apply(context.Background(), retrieval.Batch{Namespace: p.Namespace, Put: []retrieval.Put{put}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAskPages_MeasuresPagesAndCitations(t *testing.T) {
	p := newProduct(t)
	filler := strings.Repeat(" Nothing else on this page matters to anybody who reads it.", 12)
	p.addPages(t, "a.pdf", "The lighthouse is ninety metres tall."+filler+"\fThe harbour is twelve metres deep."+filler+"\fThe bridge opens at noon."+filler)
	p.addPages(t, "b.md", "The ferry sails on Mondays.")
	d := &Dataset{Questions: []Question{
		{ID: "right", Text: "How tall is the lighthouse?", Gold: []string{"a.pdf#page=1"}},
		{ID: "half", Text: "How deep is the harbour?", Gold: []string{"a.pdf#page=2", "b.md"}},
		{ID: "a page beside it", Text: "When does the bridge open at noon?", Gold: []string{"a.pdf#page=4"}},
		{ID: "without pages", Text: "When does the ferry sail?", Gold: []string{"b.md"}},
		{ID: "refused", Text: "Who painted the Sistine Chapel?", Gold: []string{"a.pdf#page=1"}},
	}}
	got, err := AskPages(context.Background(), p.Env, d)
	if err != nil {
		t.Fatal(err)
	}
	got.Searches[0].P50, got.Searches[0].P99 = 0, 0
	want := &PageReport{
		Questions: 5, Searches: []PageSearch{{Retriever: "bm25", Mode: "text",
			Document1: 4. / 5, Gold1: 2.5 / 5, Gold3: 2.5 / 5, Gold5: 2.5 / 5, Gold10: 2.5 / 5, Near3: 3.5 / 5, Near5: 3.5 / 5, Near10: 3.5 / 5}},
		CitedGold: 2.5 / 5, CitePrecision: 3. / 4, PagesCited: 4. / 5, MostCited: 1, CitedAny: 3. / 5, Refused: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report differs (-want +got):\n%s", diff)
	}
	var b strings.Builder
	if err := (&Report{Dataset: "x", Documents: 2, Chunks: 4, Pages: got}).WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(b.String()), " ")
	for _, row := range []string{
		"x: 2 documents, 4 chunks", "bm25 text 0.800 0.500 0.500 0.500 0.500 0.700 0.700 0.700 0.00 0.00", "5 0.500 0.600 0.750 0.80 1 1 0 0",
	} {
		if !strings.Contains(table, row) {
			t.Errorf("no %q in\n%s", row, b.String())
		}
	}
}

// Some facts stand on several pages, and some questions have no answer.
func TestAskPages_CountsFactsAndRefusals(t *testing.T) {
	p := newProduct(t)
	p.addPages(t, "a.pdf", "The lighthouse is ninety metres tall."+strings.Repeat(" Nothing else on this page matters to anybody who reads it.", 12)+"\fThe bridge opens at noon.")
	d := &Dataset{Questions: []Question{
		{ID: "either page", Text: "How tall is the lighthouse?", Pools: [][]string{{"a.pdf#page=7", "a.pdf#page=1"}}},
		{ID: "one of two facts", Text: "How tall is the lighthouse?", Pools: [][]string{{"a.pdf#page=1"}, {"b.pdf#page=1"}}},
		{ID: "no answer", Text: "Who painted the Sistine Chapel?"},
	}}
	got, err := AskPages(context.Background(), p.Env, d)
	if err != nil {
		t.Fatal(err)
	}
	if got.CitedGold != .75 || got.CitedAny != 1 || got.Unanswerable != 1 || got.RefusedRight != 1 || got.Searches[0].Gold1 != .75 {
		t.Errorf("%+v", got)
	}
}

func TestAskPages_EndsWithTheFirstError(t *testing.T) {
	p := newProduct(t)
	broken := errors.New("broken")
	p.Ask = func(context.Context, string) (*chat.Turn, error) { return nil, broken }
	d := &Dataset{Questions: []Question{{ID: "n7", Text: "How tall?"}}}
	if r, err := AskPages(context.Background(), p.Env, d); !errors.Is(err, broken) || r != nil || !strings.Contains(err.Error(), "n7") {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := AskPages(ctx, p.Env, d); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
