package eval

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract/sandbox"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/test/needs"
)

func TestMain(m *testing.M) {
	sandbox.RunWorkerIfAsked(ingest.Post)
	goleak.VerifyTestMain(withPostgres{m})
}

type withPostgres struct{ tests *testing.M }

// Run runs the tests, and stops the PostgreSQL server if one of them has started it.
func (w withPostgres) Run() int { return pgtest.Main(w.tests) }

// shared returns a path in the folder beside the project, and skips the test when it is absent.
func shared(t testing.TB, path string) string {
	t.Helper()
	path = filepath.Join("..", "..", "..", "shared", path)
	if _, err := os.Stat(path); err != nil {
		needs.Missing(t, path)
	}
	return path
}

// product is Parley without a model over an empty corpus.
type product struct {
	Env
	db     *store.DB
	engine *chat.Engine
}

func newProduct(t testing.TB) *product {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return newProductIn(t, db)
}

// newProductIn is newProduct with its corpus in a store, which is closed when the test ends.
func newProductIn(t testing.TB, db *store.DB) *product {
	t.Helper()
	ctx := context.Background()
	t.Cleanup(func() { db.Close() })
	corpus, err := retrieval.Open(ctx, db.Corpus(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &product{db: db, engine: chat.NewEngine(chat.Config{
		Retriever: corpus, Rewrite: builtin.Rewrite, Read: builtin.Answerer{Reader: builtin.NewReader()}.Read,
		Models:   &llm.Router{Providers: map[string]llm.Model{"builtin": builtin.Answerer{Reader: builtin.NewReader()}}},
		Defaults: chat.Options{Models: chat.Models{Inference: "builtin:extractive"}},
	})}
	p.Env = Env{Corpus: corpus, Store: db.Corpus(), Namespace: "default", Rewrite: builtin.Rewrite, Ask: p.ask}
	return p
}

func (p *product) ask(ctx context.Context, question string) (*chat.Turn, error) {
	return p.askIn(ctx, nil, question)
}

// askIn asks a question at the end of a conversation.
func (p *product) askIn(ctx context.Context, conversation []Message, question string) (*chat.Turn, error) {
	return chat.Collect(p.engine.Run(ctx, &chat.Request{
		Options:  p.engine.Defaults(),
		Messages: append(history(conversation), chat.TextMessage(llm.User, question)),
	}))
}

// load returns a data set that is known to be there.
func load(t testing.TB, dir string) *Dataset {
	t.Helper()
	d, err := Load(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// index puts the passages of a data set into the product's corpus.
func (p *product) index(t testing.TB, d *Dataset) {
	t.Helper()
	if _, err := Index(context.Background(), p.Env, d); err != nil {
		t.Fatal(err)
	}
}

// list is the ranking of one query.
type list struct {
	query Query
	asked string // the text that was searched for
	ids   []string
}

// lists returns the rankings from which Rank takes its measures, by the form of the queries.
func (p *product) lists(t *testing.T, d *Dataset) map[string][]list {
	t.Helper()
	ctx := context.Background()
	ids, err := documentIDs(ctx, p.Env)
	if err != nil {
		t.Fatal(err)
	}
	lists := make(map[string][]list)
	for _, f := range forms(ctx, p.Env) {
		for _, q := range d.Queries {
			text, terms, ok := f.query(q)
			if !ok {
				continue
			}
			hits, err := p.Corpus.Rank(ctx, retrieval.Query{
				Filter: retrieval.Filter{Namespace: p.Namespace}, Text: text, Context: terms, Limit: depth,
			})
			if err != nil {
				t.Fatal(err)
			}
			lists[f.name] = append(lists[f.name], list{q, text, ranked(hits, ids)})
		}
	}
	return lists
}
