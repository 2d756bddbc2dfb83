// Package hardening tests promises of docs/hardening.md through the whole path of a request:
// server, protocol, turn runner with store and ledger, engine, retries and breakers, and a
// provider, on top of an upstream that fails in every known way.
package hardening

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
	"parley/internal/retrieval"
	"parley/internal/server"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/store/storetest"
	"parley/internal/tokens"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/agui"
	"parley/internal/wire/aisdk"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/chatui"
	"parley/internal/wire/mcp"
	wireopenai "parley/internal/wire/openai"
	"parley/internal/wire/ragchat"
	"parley/internal/wire/responses"
	"parley/internal/wire/webapi"
	"parley/internal/wire/yourdata"
)

// patience limits the time that a test waits for an event.
const patience = time.Minute

// stack is a server on top of an upstream.
type stack struct {
	url     string
	up      *llmtest.Upstream
	db      *store.DB
	log     *journal
	client  *http.Client
	metrics *server.Metrics
	toUp    *http.Transport // connections to the upstream
	mounted []wire.Protocol

	fault atomic.Value                        // string: the upstream's current fault
	found func(context.Context, string) error // called for each search
	saved chan turn.Record                    // receives every saved turn
}

// options configures a stack. Zero fields mean the default.
type options struct {
	idle   time.Duration // idle timeout of the upstream; patience
	write  time.Duration // time for a client to take a write; 30 s
	models chat.Models
	model  llm.Model          // the answering model; the upstream's by default
	output int                // most tokens of an answer; 1024
	count  func(n int) string // chooses the fault of the n-th call
	url    string             // of a PostgreSQL database; SQLite by default
	grown  int                // existing turns, sessions and documents in the store; see storetest.Grow
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// onEachDatabase runs a test for SQLite and for PostgreSQL, in turn, with the URL of an empty database or "".
func onEachDatabase(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, pgtest.New(t)) })
}

func newStack(t testing.TB, o options) *stack {
	t.Helper()
	if o.idle == 0 {
		o.idle = patience
	}
	s := &stack{up: llmtest.NewUpstream(t), log: &journal{}, metrics: server.NewMetrics(), saved: make(chan turn.Record, 20_000), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.fault.Store("none")
	if s.up.Fault = o.count; o.count == nil {
		s.up.Fault = func(int) string { return s.fault.Load().(string) }
	}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	dir := t.TempDir()
	open := func() (*store.DB, error) { return store.Open(t.Context(), dir, log) }
	if o.url != "" {
		open = func() (*store.DB, error) { return store.OpenPostgres(t.Context(), o.url, dir, log) }
	}
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s.db = db
	if o.grown > 0 {
		storetest.Grow(t, dir, "default", o.grown)
	}
	t.Cleanup(func() { _ = db.Close() })
	books := ledger.New(db.State(), ledger.Options{Log: log, Count: tokens.Count})
	defaults := chat.DefaultOptions()
	defaults.Models, defaults.MaxOutputTokens = o.models, cmp.Or(o.output, defaults.MaxOutputTokens)
	engine := chat.NewEngine(chat.Config{
		Retriever: s, Models: s.router(t, books, o), Rewrite: builtin.Rewrite, Suggest: builtin.Answerer{}.Suggest, Logger: log,
		Defaults: defaults,
	})
	runner := turn.NewRunner(engine, db.State(), turn.Options{Log: log, Observe: s.metrics.Observe, Saved: func(r turn.Record) { s.saved <- r }})
	s.serve(t, o, engine, runner, log)
	return s
}

// router wraps the upstream's models as the program does, but without waits between retries.
func (s *stack) router(t testing.TB, books *ledger.Ledger, o options) *llm.Router {
	s.toUp = &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(s.toUp.CloseIdleConnections)
	p, err := openai.New(openai.Config{
		BaseURL: s.up.URL, APIKey: "sk-canary-of-ours-0123456789", Upstream: upstream.Config{
			FirstByte: o.idle, Idle: o.idle,
			HTTP: &http.Client{Transport: s.toUp, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var model llm.Model = p
	if o.model != nil {
		model = o.model
	}
	retrier := llm.NewRetrier(llm.RetryOptions{Attempts: 2, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	breakers := llm.NewBreakers(llm.BreakerOptions{Failures: 1 << 30}) // breakers have their own tests
	return &llm.Router{
		Default: "up:m", Providers: map[string]llm.Model{"up": model},
		Wrap: func(m llm.Model, _, key string) llm.Model {
			return llm.Guards{Endpoint: key, Retrier: retrier, Breakers: breakers, Meter: books.Of("up")}.Model(m)
		},
	}
}

func (s *stack) serve(t testing.TB, o options, engine *chat.Engine, runner *turn.Runner, log *slog.Logger) {
	defaults := engine.Defaults()
	completions := wireopenai.New(wireopenai.Config{Base: wire.Base{Runner: runner, Defaults: defaults}})
	s.mounted = []wire.Protocol{
		azurechat.New(azurechat.Config{Base: wire.Base{Runner: runner, Defaults: defaults}, Store: s.db.Transcripts()}).Protocol(),
		completions.Protocol(),
		yourdata.New(yourdata.Config{Base: wire.Base{Runner: runner, Defaults: defaults}, Store: s.db.Transcripts(), Complete: completions.Complete}).Protocol(),
		responses.New(responses.Config{Base: wire.Base{Runner: runner, Defaults: defaults}, Store: s.db.Transcripts()}).Protocol(),
		chatui.New(chatui.Config{Base: wire.Base{Runner: runner, Defaults: defaults}, Store: s.db.Transcripts()}).Protocol(),
		aisdk.New(aisdk.Config{Base: wire.Base{Runner: runner, Defaults: defaults}, Turns: runner}).Protocol(),
		agui.New(agui.Config{Base: wire.Base{Runner: runner, Defaults: defaults}}).Protocol(),
		mcp.New(mcp.Config{Base: wire.Base{Runner: runner, Defaults: defaults}, Search: s, Documents: s.db.Corpus(), Logger: log}).Protocol(),
		ragchat.New(ragchat.Config{
			Base:     wire.Base{Runner: runner, Defaults: defaults},
			Log:      runner.Log,
			Sessions: s.db.State(),
			Ledger:   s.db.State(),
			Search:   s.Search,
			Logger:   log,
			NewBill:  func() ragchat.Bill { return runner.NewBill(engine.Finder()) },
		}).Protocol(),
		webapi.New(webapi.Config{
			Turns: runner, Records: s.db.State(), Usage: s.db.State().Usage, Namespace: "default",
			Namespaces: func(context.Context, access.Principal) ([]string, error) { return nil, nil },
		}).Protocol(),
	}
	srv := server.New(server.Config{WriteTimeout: o.write, Drain: -1},
		server.Deps{Documents: s, Status: s, Log: log, Metrics: s.metrics, Protocols: s.mounted})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	if o.write != 0 {
		ln = smallBuffers{ln}
	}
	go func() { done <- srv.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	s.url = "http://" + ln.Addr().String()
}

// smallBuffers accepts connections with small buffers, so that writes soon block.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(32 << 10)
	}
	return conn, err
}

// Search implements chat.Retriever with two equally good passages.
func (s *stack) Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error) {
	if s.found != nil {
		if err := s.found(ctx, q.Text); err != nil {
			return retrieval.Result{}, err
		}
	}
	passage := func(id, text string) retrieval.Passage {
		return retrieval.Passage{
			Chunk:    retrieval.Chunk{Text: text},
			Document: retrieval.Document{ID: id, Name: id + ".txt", Namespace: "default"}, Score: 1,
		}
	}
	return retrieval.Result{Mode: retrieval.Text, Matched: 2, Passages: []retrieval.Passage{
		passage("a", "Everything is covered."), passage("b", "Almost everything is covered."),
	}}, nil
}

// Document and OpenBlob implement server.Documents.
func (s *stack) Document(context.Context, retrieval.Filter, string) (retrieval.Document, error) {
	return retrieval.Document{}, retrieval.ErrNotFound
}

func (s *stack) OpenBlob(string) (io.ReadSeekCloser, error) { return nil, retrieval.ErrNotFound }

// Ready and Ingestion implement server.Status.
func (s *stack) Ready(context.Context) error { return nil }
func (s *stack) Ingestion() server.Ingestion { return server.Ingestion{} }

// journal is an in-memory log.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
