package builtin

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
)

func TestMain(m *testing.M) {
	sandbox.RunWorkerIfAsked(ingest.Post)
	goleak.VerifyTestMain(m)
}

// inProcess reads files without a pool, which starts faster for a few small ones.
type inProcess struct{}

func (inProcess) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	f, err := os.Open(r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	doc, err := extract.ReadFile(ctx, r.Name, f, st.Size(), extract.Limits{})
	return &extract.Result{Document: doc}, err
}

// index returns a corpus of the documents in a folder.
func index(t *testing.T, dir string, x ingest.Extractor, options ...retrieval.Option) *retrieval.Corpus {
	t.Helper()
	ctx, data := context.Background(), t.TempDir()
	db, err := store.Open(ctx, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	corpus, err := retrieval.Open(ctx, db.Corpus(), nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	in := ingest.New(ingest.Config{
		Corpus: corpus, Store: db.Corpus(), Blobs: db.Blobs(), Extractor: x,
		Namespace: "default", DataDir: data, Supports: extract.Supports,
	})
	report, err := in.Run(ctx, []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Indexed == 0 || len(report.Failed) > 0 {
		t.Fatalf("indexed %s: %+v", dir, report)
	}
	return corpus
}

// collection returns a corpus of the documents in an archive below testdata.
func collection(t *testing.T, name string) *retrieval.Corpus {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return index(t, dir, inProcess{})
}

// product answers from a corpus as the program does without a model.
type product struct {
	corpus *retrieval.Corpus
	engine *chat.Engine
}

func newProduct(corpus *retrieval.Corpus) *product {
	router := &llm.Router{Providers: map[string]llm.Model{"builtin": Answerer{Reader: NewReader()}}}
	return &product{corpus, chat.NewEngine(chat.Config{
		Retriever: corpus, Models: router, Rewrite: Rewrite, Read: Answerer{Reader: NewReader()}.Read, Suggest: Answerer{Reader: NewReader()}.Suggest,
		Defaults: chat.Options{Models: chat.Models{Inference: "builtin:extractive"}},
		// Tests compare answers, which must not depend on how busy the machine is.
		RerankTimeout: 10 * time.Minute, SuggestTimeout: 10 * time.Minute,
	})}
}

// ask runs one turn without suggestions; messages are those of the user and the assistant by turns, the question last.
func (p *product) ask(t *testing.T, messages ...string) *chat.Turn {
	t.Helper()
	return p.run(t, false, messages)
}

// askAndSuggest is ask with suggestions, for which the reader reads many times as much.
func (p *product) askAndSuggest(t *testing.T, messages ...string) *chat.Turn {
	t.Helper()
	return p.run(t, true, messages)
}

func (p *product) run(t *testing.T, followUps bool, messages []string) *chat.Turn {
	t.Helper()
	req := chat.Request{Options: p.engine.Defaults(), Messages: conversation(messages...)}
	req.Options.FollowUps = followUps
	turn, err := chat.Collect(p.engine.Run(context.Background(), &req))
	if err != nil {
		t.Fatalf("ask %q: %v", messages, err)
	}
	return turn
}

// converse asks one question after the other and returns the last turn.
func (p *product) converse(t *testing.T, questions ...string) *chat.Turn {
	t.Helper()
	var messages []string
	for {
		messages, questions = append(messages, questions[0]), questions[1:]
		turn := p.ask(t, messages...)
		if len(questions) == 0 {
			return turn
		}
		messages = append(messages, turn.Messages[0].Text)
	}
}

// conversation returns messages of the user and the assistant in turns.
func conversation(texts ...string) []chat.Message {
	var messages []chat.Message
	for i, s := range texts {
		role := llm.User
		if i%2 == 1 {
			role = llm.Assistant
		}
		messages = append(messages, chat.TextMessage(role, s))
	}
	return messages
}

// top returns the passages of a question, best first.
func (p *product) top(t *testing.T, question string, limit int) []retrieval.Passage {
	t.Helper()
	res, err := p.corpus.Search(context.Background(), retrieval.Query{
		Filter: retrieval.Filter{Namespace: "default"}, Text: question, Limit: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	return res.Passages
}

// readLines returns the lines of a test file without comments.
func readLines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
