package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/webui"
	"parley/internal/wire"
	"parley/internal/wire/ragchat"
	"parley/internal/wire/webapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience limits the time that a test waits for something that must happen.
const patience = time.Minute

const question = `{"messages":[{"role":"user","content":"What is covered?"}]}`

// script is a Runner that answers each turn with one message. Its channels, if not nil, pause it.
type script struct {
	words   []string
	started chan struct{}            // receives a value after the first word
	resume  chan struct{}            // the second word waits for it
	ended   chan error               // receives the cause for which a waiting turn was cancelled
	fail    func(chat.Request) error // returns the first item of the stream, if not nil
	broken  func(chat.Request) error // returns the item before the first word, if not nil
	seen    func(chat.Request)
}

func (s *script) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if s.seen != nil {
			s.seen(*req)
		}
		if s.fail != nil {
			if err := s.fail(*req); err != nil {
				yield(nil, err)
				return
			}
		}
		for _, e := range s.opening(*req) {
			if !yield(e, nil) {
				return
			}
		}
		if s.broken != nil {
			if err := s.broken(*req); err != nil {
				yield(nil, err)
				return
			}
		}
		for i, word := range s.words {
			if i == 1 && s.resume != nil {
				s.started <- struct{}{}
				select {
				case <-s.resume:
				case <-ctx.Done():
					if s.ended != nil {
						s.ended <- context.Cause(ctx)
					}
					yield(nil, ctx.Err())
					return
				}
			}
			if !yield(chat.TextDelta{ID: "m1", Text: word}, nil) {
				return
			}
		}
		for _, e := range s.closing() {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *script) opening(req chat.Request) []chat.Event {
	asked := req.Messages[len(req.Messages)-1].Text()
	return []chat.Event{
		chat.StageFinished{Stage: chat.StageRetrieve, Duration: 2 * time.Millisecond},
		chat.QueryRewritten{Original: asked, Query: asked},
		chat.PassagesRetrieved{Mode: retrieval.Text},
		chat.PromptBuilt{Model: "builtin:extractive", Messages: []llm.Message{llm.Text(llm.User, asked)}},
		chat.MessageStarted{ID: "m1", Model: "extractive"},
		chat.CompletionStarted{ID: "m1", Model: "extractive"},
	}
}

func (s *script) closing() []chat.Event {
	usage := llm.Usage{Input: 7, Output: 3}
	return []chat.Event{
		chat.MessageFinished{
			ID: "m1", Status: chat.StatusCompleted, Text: strings.Join(s.words, ""),
			FinishReason: "stop", Model: "extractive", Usage: usage,
		},
		chat.TurnFinished{Duration: time.Second, Usage: usage},
	}
}

// library is a Documents with documents in memory, keyed by name.
type library struct {
	mu    sync.Mutex
	docs  map[string]retrieval.Document
	blobs map[string][]byte
	names []string // all names that were looked up
	err   error
}

func newLibrary() *library {
	l := &library{docs: map[string]retrieval.Document{}, blobs: map[string][]byte{}}
	l.add("handbook.txt", "text/plain", []byte("Everything is covered."))
	return l
}

func (l *library) add(name, mediaType string, original []byte) {
	sha := "sha-of-" + name
	l.docs[name] = retrieval.Document{
		ID: name, Namespace: "default", Name: name, MediaType: mediaType, SHA256: sha, Size: int64(len(original)),
	}
	l.blobs[sha] = original
}

func (l *library) Document(_ context.Context, f retrieval.Filter, name string) (retrieval.Document, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, name)
	if l.err != nil {
		return retrieval.Document{}, l.err
	}
	doc, ok := l.docs[name]
	if !ok || doc.Namespace != f.Namespace || !f.MaySee(doc.Category, doc.Access) {
		return retrieval.Document{}, retrieval.ErrNotFound
	}
	return doc, nil
}

type blob struct{ *bytes.Reader }

func (blob) Close() error { return nil }

func (l *library) OpenBlob(sha string) (io.ReadSeekCloser, error) {
	b, ok := l.blobs[sha]
	if !ok {
		return nil, errors.New("no such blob on the disk /var/secret")
	}
	return blob{bytes.NewReader(b)}, nil
}

type state struct {
	ready     error
	ingestion Ingestion
}

func (s *state) Ready(context.Context) error { return s.ready }
func (s *state) Ingestion() Ingestion        { return s.ingestion }

// options are the changes of a test's server.
type options struct {
	cfg       Config
	runner    chat.Runner // behind a turn.Runner, unless it is one
	turnMax   int         // see turn.Options.MaxTurns
	library   *library
	state     *state
	log       io.Writer
	wrap      func(wire.Route) wire.Route // of the routes of the AI Chat Protocol
	keys      Keys
	turns     webapi.Turns
	drain     func(context.Context, error)
	usage     func(context.Context, ledger.UsageQuery) ([]ledger.UsageRow, error)
	who       access.Principal
	shelf     *bookcase
	closed    bool            // allows no changes
	namespace string          // of the web page; "" means "default"
	more      []wire.Protocol // in addition to the usual ones
}

// forgetful is a store of turns that keeps nothing.
type forgetful struct{ turn.Store }

func (forgetful) Save(context.Context, turn.Record) error { return nil }
func (forgetful) Conversation(_ context.Context, _ turn.Scope, id string, _ int) (turn.Conversation, error) {
	if id == knownSession {
		return turn.Conversation{ID: id, Kind: ragchat.Kind}, nil
	}
	return turn.Conversation{}, turn.ErrNotFound
}

// observed returns a runner of turns that metrics count.
func observed(m *Metrics, r chat.Runner, maxTurns int) *turn.Runner {
	return turn.NewRunner(r, forgetful{}, turn.Options{Observe: m.Observe, MaxTurns: maxTurns})
}

func newServer(t testing.TB, o options) *Server {
	t.Helper()
	if o.runner == nil {
		o.runner = &script{words: []string{"Every", "thing."}}
	}
	if o.turns == nil {
		o.turns = oneTurn(t)
	}
	if o.library == nil {
		o.library = newLibrary()
	}
	if o.state == nil {
		o.state = &state{}
	}
	if o.usage == nil {
		o.usage = func(context.Context, ledger.UsageQuery) ([]ledger.UsageRow, error) { return nil, nil }
	}
	if o.log == nil {
		o.log = io.Discard
	}
	log := slog.New(slog.NewJSONHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	metrics := NewMetrics()
	if o.shelf == nil {
		o.shelf = newBookcase()
	}
	runner, ok := o.runner.(*turn.Runner)
	if !ok {
		runner = observed(metrics, o.runner, o.turnMax)
	}
	azure := azureOf(runner)
	for i, rt := range azure.Routes {
		if rt.Turn && o.wrap != nil {
			azure.Routes[i] = o.wrap(rt)
		}
	}
	s := New(o.cfg, Deps{
		Protocols: append([]wire.Protocol{azure, chatUIOf(runner), aiSDKOf(runner, o.turns), agUIOf(runner), openAIOf(runner), responsesOf(runner), ragChatOf(runner, log), intakeOf(t),
			webOf(o)}, o.more...),
		Admit: func(_ *http.Request, right wire.Right) (access.Principal, error) {
			if o.closed && (right == wire.Change || right == wire.Edit) {
				return o.who, &chat.Error{Kind: chat.Forbidden, Msg: "The setting uploads.enabled allows it."}
			}
			return o.who, nil
		},
		Documents: o.library, Status: o.state, Namespaces: namespaces, Keys: o.keys, Drain: o.drain, Log: log, Metrics: metrics,
	})
	s.site = webui.From(fstest.MapFS{
		"index.html":          {Data: []byte("<!doctype html><title>Parley</title>")},
		"assets/handbook.txt": {Data: []byte("an asset")},
		"embed.html":          {Data: []byte("<!doctype html><title>chat</title>")},
		"embed.js":            {Data: []byte("// a script")},
	})
	return s
}

// live is a server on a real port.
type live struct {
	*Server
	url    string
	addr   string
	client *http.Client
	stop   context.CancelFunc
	done   chan error // receives the result of Serve
}

func start(t testing.TB, o options) *live {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &live{
		Server: newServer(t, o), url: "http://" + ln.Addr().String(), addr: ln.Addr().String(),
		client: &http.Client{Transport: &http.Transport{}}, stop: cancel, done: make(chan error, 1),
	}
	go func() { l.done <- l.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		l.client.CloseIdleConnections()
		if err := wait(t, l.done); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return l
}

// wait returns the next value of a channel. From a closed channel it returns the zero value.
func wait[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func do(s *Server, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost:8000"
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// errorOf returns the sentence of {"error": string}. It fails the test if the body is anything else.
func errorOf(t testing.TB, body []byte) string {
	t.Helper()
	var e map[string]string
	if err := json.Unmarshal(body, &e); err != nil || len(e) != 1 || e["error"] == "" {
		t.Fatalf("the body is not {\"error\": string}: %q", body)
	}
	return e["error"]
}

// postPaths returns the paths that run turns of the AI Chat Protocol, in the form that clients use.
func postPaths(s *Server) []string {
	return slices.DeleteFunc(pathsOf(s, http.MethodPost), func(path string) bool {
		return isOpenAI(path) || strings.HasPrefix(path, "/p/ai-sdk/") || strings.HasPrefix(path, "/ag-ui") || strings.HasPrefix(path, "/speech") || isRAGChat(path) || isChatUI(path) || isIntake(path) || strings.HasPrefix(path, "/api/documents/") || path == "/api/folders" || path == "/api/prompts" || strings.HasPrefix(path, "/chat_history")
	})
}

// isOpenAI reports whether a path is one of OpenAI's API, or of Azure's for the same.
func isOpenAI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/openai/")
}

func pathsOf(s *Server, method string) []string {
	var paths []string
	for _, rt := range s.endpoints {
		if _, ok := rt.methods[method]; ok {
			paths = append(paths, clientPath(rt.path))
		}
	}
	slices.Sort(paths)
	return paths
}

func clientPath(pattern string) string {
	pattern = strings.ReplaceAll(pattern, "{$}", "")
	return strings.NewReplacer("{path...}", "handbook.txt", "{id...}", "parley", "{id}", stored, "{link}", storedLink, "{item}", "m1", "{url...}", storedURL, "{n}", "1", "{name}", "parley",
		"{session_id}", knownSession).Replace(pattern)
}
