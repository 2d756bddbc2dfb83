package retrieval_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// world is a data folder with a corpus over it.
type world struct {
	testing.TB
	dir     string
	db      *store.DB
	corpus  *retrieval.Corpus
	log     *bytes.Buffer
	options []retrieval.Option
}

func newWorld(t testing.TB, options ...retrieval.Option) *world {
	return openWorld(t, t.TempDir(), options...)
}

// openWorld opens a folder as another process would.
func openWorld(t testing.TB, dir string, options ...retrieval.Option) *world {
	t.Helper()
	w := &world{TB: t, dir: dir, db: openFolder(t, dir), log: &bytes.Buffer{}, options: options}
	w.corpus = w.open(w.db.Corpus())
	return w
}

func openFolder(t testing.TB, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// open returns a corpus over a store, whose log is w.log.
func (w *world) open(s retrieval.Store) *retrieval.Corpus {
	w.Helper()
	c, err := retrieval.Open(w.Context(), s, slog.New(slog.NewTextHandler(w.log, nil)), w.options...)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// document returns one that has an id of its name, and a chunk on a page of its own for each text.
func document(name string, texts ...string) retrieval.Put {
	p := retrieval.Put{Document: retrieval.Document{
		ID: "id of " + name, Name: name, Title: name, MediaType: "text/plain", Pages: len(texts), IndexedAt: time.Now(),
	}}
	for i, text := range texts {
		p.Pages = append(p.Pages, retrieval.Page{Number: i + 1, Text: text})
		p.Chunks = append(p.Chunks, retrieval.Chunk{
			Text: text, Spans: []retrieval.Span{{Page: i + 1, End: len(text)}}, Tokens: len(text) / 4,
		})
	}
	return p
}

// restricted returns the document with an access list.
func restricted(p retrieval.Put, l access.List) retrieval.Put {
	p.Document.Access = l
	return p
}

// put adds or replaces documents of the namespace ns in one batch.
func (w *world) put(puts ...retrieval.Put) {
	w.Helper()
	w.apply(retrieval.Batch{Namespace: "ns", Put: puts})
}

func (w *world) apply(b retrieval.Batch) {
	w.Helper()
	if err := w.corpus.Apply(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

// ask searches the namespace ns as nobody in particular.
func (w *world) ask(text string) retrieval.Result {
	w.Helper()
	return w.search(retrieval.Query{Text: text})
}

// search fills in the namespace ns and a limit of 10.
func (w *world) search(q retrieval.Query) retrieval.Result {
	w.Helper()
	res, err := search(w.Context(), w.corpus, q)
	if err != nil {
		w.Fatal(err)
	}
	return res
}

func search(ctx context.Context, c *retrieval.Corpus, q retrieval.Query) (retrieval.Result, error) {
	if q.Namespace == "" {
		q.Namespace = "ns"
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	return c.Search(ctx, q)
}

// names returns the documents of the passages, best first, each once.
func names(res retrieval.Result) []string {
	found := []string{}
	for _, p := range res.Passages {
		if !slices.Contains(found, p.Document.Name) {
			found = append(found, p.Document.Name)
		}
	}
	return found
}

// segments returns how many segments the namespace ns is stored in.
func (w *world) segments() int {
	w.Helper()
	snap, err := w.db.Corpus().Snapshot(w.Context(), "ns")
	if err != nil {
		w.Fatal(err)
	}
	return len(snap.Segments)
}

// colours are documents that any of them is easily found among.
func colours(n int) []retrieval.Put {
	words := strings.Fields("red orange yellow green blue indigo violet black white grey brown pink")
	var puts []retrieval.Put
	for i := range n {
		puts = append(puts, document(fmt.Sprintf("colour-%03d.txt", i),
			fmt.Sprintf("The wall number w%dx is painted %s on the outside.", i, words[i%len(words)]),
			fmt.Sprintf("Its inside is %s, with a %s door.", words[i*5%len(words)], words[i*7%len(words)])))
	}
	return puts
}
