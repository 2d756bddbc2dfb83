package ragchat

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begun is the time of the tests' clock, which stands still.
var begun = time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)

// books is a Sessions and a Ledger with the data of a fixture.
type books struct {
	sessions []turn.Conversation
	entries  []ledger.Entry
	totals   map[ledger.AccountKey]ledger.Totals
	did      []string // changes that were made
	err      error    // returned by all methods
}

func (b *books) Begin(_ context.Context, c turn.Conversation) error {
	b.did = append(b.did, fmt.Sprintf("begin %s of %+v at %s", c.ID, c.Scope, at(c.CreatedAt)))
	return b.err
}

func (b *books) Conversation(_ context.Context, scope turn.Scope, id string, turns int) (turn.Conversation, error) {
	for _, c := range b.sessions {
		switch {
		case c.ID != id:
		case c.Scope != scope:
			return turn.Conversation{}, turn.ErrForeign
		default:
			if turns == 0 {
				c.History = nil
			}
			return c, b.err
		}
	}
	return turn.Conversation{}, turn.ErrNotFound
}

func (b *books) Conversations(_ context.Context, scope turn.Scope, kind string, after turn.Position, limit int) ([]turn.Conversation, error) {
	var all []turn.Conversation
	for _, c := range b.sessions {
		if c.Scope == scope && c.Kind == kind && (after.ID == "" || c.ID > after.ID) && len(all) < limit {
			all = append(all, c)
		}
	}
	return all, b.err
}

func (b *books) Reset(_ context.Context, _ turn.Scope, id string, at time.Time) error {
	b.did = append(b.did, "reset "+id)
	return b.err
}

func (b *books) Delete(_ context.Context, _ turn.Scope, id string) error {
	b.did = append(b.did, "delete "+id)
	return b.err
}

func (b *books) Entries(context.Context, string) ([]ledger.Entry, error) { return b.entries, b.err }

func (b *books) Totals(_ context.Context, k ledger.AccountKey) (ledger.Totals, error) {
	return b.totals[k], b.err
}

func (b *books) ClearTotals(_ context.Context, k ledger.AccountKey) (bool, error) {
	b.did = append(b.did, fmt.Sprintf("clear %+v", k))
	_, had := b.totals[k]
	return had, b.err
}

// readLedger reads lines "stage provider:model input output cached reasoning micros", with "?" for
// an unknown price, and "totals {…}" with the totals of the account u, c or the session s.
func (b *books) readLedger(tb testing.TB, text string) {
	tb.Helper()
	b.totals = map[ledger.AccountKey]ledger.Totals{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if words[0] == "totals" {
			var t ledger.Totals
			if err := json.Unmarshal([]byte(strings.Join(words[1:], " ")), &t); err != nil {
				tb.Fatal(err)
			}
			b.totals[ledger.AccountKey{User: "user123", Conversation: "conv456"}] = t
			b.totals[ledger.AccountKey{Stored: true, Conversation: "s1"}] = t
			continue
		}
		e := ledger.Entry{Stage: chat.Stage(words[0]), Status: ledger.Completed}
		e.Provider, e.Model, _ = strings.Cut(words[1], ":")
		for i, to := range []*int{&e.Usage.Input, &e.Usage.Output, &e.Usage.Cached, &e.Usage.Reasoning} {
			*to, _ = strconv.Atoi(words[2+i])
		}
		if words[6] != "?" {
			e.Cost.Micros, _ = strconv.ParseInt(words[6], 10, 64)
			e.Cost.Known = true
		}
		b.entries = append(b.entries, e)
	}
}

// someSessions returns sessions of the anonymous caller and of others.
func someSessions() []turn.Conversation {
	mine := turn.Scope{Namespace: "default"}
	cited := chat.TextMessage(llm.Assistant, "Mount Everest is Earth's highest mountain [everest.pdf#page=2].")
	cited.Citations = []chat.Citation{{Label: "everest.pdf#page=2", DocumentID: "d1", Name: "everest.pdf", Title: "Everest", Page: 2, Snippet: "Mount Everest is"}}
	looked := chat.TextMessage(llm.Assistant, "Mount Everest stands at 8,848 meters...")
	looked.ToolsUsed = []string{"search_documents"}
	elsewhere := chat.TextMessage(llm.Assistant, "Leave is 25 days [leave.md].")
	elsewhere.Citations = []chat.Citation{{Label: "leave.md", DocumentID: "d2", Namespace: "hr & co", Name: "leave.md", Title: "Leave", Snippet: "Leave is"}}
	here := chat.TextMessage(llm.Assistant, "The office opens at eight [office.md].")
	here.Citations = []chat.Citation{{Label: "office.md", DocumentID: "d3", Namespace: "main", Name: "office.md", Title: "Office", Snippet: "The office"}}
	return []turn.Conversation{
		{ID: "two-namespaces", Scope: turn.Scope{Namespace: "main"}, Kind: Kind, Completed: 2, CreatedAt: begun, UpdatedAt: begun, History: []chat.Message{
			chat.TextMessage(llm.User, "How long is leave?"), elsewhere, chat.TextMessage(llm.User, "When does the office open?"), here,
		}},
		{ID: "s1", Scope: mine, Kind: Kind, Completed: 2, CreatedAt: begun, UpdatedAt: begun.Add(135 * time.Second), History: []chat.Message{
			chat.TextMessage(llm.User, "What is Mount Everest?"), cited,
			chat.TextMessage(llm.User, "How tall is it?"), looked,
		}},
		{ID: "s2", Scope: mine, Kind: Kind, CreatedAt: begun, UpdatedAt: begun},
		{ID: "of-bob", Scope: turn.Scope{Namespace: "default", Owner: "bob"}, Kind: "x"},
		{ID: "azure", Scope: mine},
	}
}

// freeBill charges nobody.
type freeBill struct{ chat.Runner }

func (freeBill) ID() string { return "01J0000000000000000000000B" }

// handlerOf returns a Handler whose ids and times are the same in each run.
func handlerOf(runner chat.Runner, b *books, change func(*Config)) *Handler {
	engine := chat.DefaultOptions()
	engine.Models.Inference = "builtin:extractive"
	turns := &remembered{Runner: runner, logs: map[string]*turn.Log{}}
	cfg := Config{
		Base: wire.Base{
			Runner:   turns,
			Defaults: engine,
			Now:      func() time.Time { return begun },
			NewID:    wiretest.IDs(),
		},
		Log:       turns.Log,
		Sessions:  b,
		Ledger:    b,
		Search:    searchFound,
		NewBill:   func() Bill { return freeBill{runner} },
		Logger:    slog.New(slog.DiscardHandler),
		SessionID: func() string { return "12d8cd79-0ee8-4dcd-97a5-5983effcbccd" },
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// remembered is a Runner that keeps the events of its turns.
type remembered struct {
	chat.Runner
	mu   sync.Mutex
	logs map[string]*turn.Log // keys are ids of turns
}

// Run runs a turn and keeps its events.
func (r *remembered) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	log := turn.NewLog(req.TurnID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs[req.TurnID] = log
	return turn.Logged(ctx, r.Runner, req, log, func() time.Time { return begun })
}

// Log returns the events of a turn.
func (r *remembered) Log(_ context.Context, _, id string) (*turn.Log, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if log := r.logs[id]; log != nil {
		return log, nil
	}
	return nil, turn.ErrNotFound
}

// searchFound finds the documents in found that meet the query's condition.
func searchFound(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
	all := found
	all.Passages = slices.DeleteFunc(slices.Clone(found.Passages), func(p retrieval.Passage) bool { return !q.Where.Holds(p.Document.AllAttributes()) })
	return all, nil
}

// found is the result of every search.
var found = retrieval.Result{Passages: []retrieval.Passage{
	{Chunk: retrieval.Chunk{Key: retrieval.ChunkKey{Revision: 1, Ordinal: 3}, Text: "Mount Whitney is in California.", Headings: []string{"Peaks", "Whitney"},
		Spans: []retrieval.Span{{Page: 2, End: 31}}}, Score: 0.9,
		Document: retrieval.Document{ID: "d1", Name: "peaks/whitney.pdf", Title: "Whitney", Category: "us"}},
	{Chunk: retrieval.Chunk{Key: retrieval.ChunkKey{Revision: 2}, Text: "Peaks & passes.", Spans: []retrieval.Span{{End: 15}}}, Score: 0.5,
		Document: retrieval.Document{ID: "d2", Name: "list.md", Title: "List", URL: "https://example.com/list"}},
}}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }
