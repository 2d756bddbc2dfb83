// Command path lists the functions of Parley that POST /chat/stream enters between the socket and
// the engine, so that an added layer shows up. Build it with coverage counters:
//
//	go build -cover -covermode=atomic -coverpkg=parley/... -o /tmp/path ./test/path && /tmp/path
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/coverage"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/server"
	"parley/internal/store"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/azurechat"
)

// layers are the packages whose functions count: not the store, which is another matter.
var layers = []string{"access", "chat", "ident", "ledger", "server", "turn", "wire"}

// asked is a typical request of a front end.
const asked = `{"messages":[{"role":"user","content":"What is covered?"},{"role":"assistant","content":"Leave [a.pdf#page=2]."},
	{"role":"user","content":"And travel?"}],"context":{"overrides":{"top":3,"retrieval_mode":"text","temperature":0.3}},"session_state":null}`

func main() {
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "path")
	if err != nil {
		log.Fatal(err)
	}
	entered, err := path(dir)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n%d functions\n", strings.Join(entered, "\n"), len(entered))
}

// path returns the functions that were entered, sorted.
func path(dir string) ([]string, error) {
	db, err := store.Open(context.Background(), dir, nil)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var written error
	engine := reached(func() { written = coverage.WriteCountersDir(dir) })
	runner := turn.NewRunner(engine, db.State(), turn.Options{Keep: true, MaxTurns: 10})
	h := server.New(server.Config{}, server.Deps{
		Documents: none{}, Status: none{}, Log: slog.New(slog.DiscardHandler), Keys: turn.NewKeys(db.State(), nil),
		Protocols: []wire.Protocol{azurechat.New(azurechat.Config{Base: wire.Base{Runner: runner}, Store: db.Transcripts(), History: true}).Protocol()},
	}).Handler()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/chat/stream", strings.NewReader(asked))
	r.Header.Set("Content-Type", "application/json")
	if err := errors.Join(coverage.WriteMetaDir(dir), coverage.ClearCounters()); err != nil {
		return nil, err
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
	if written != nil {
		return nil, written
	}
	return read(dir)
}

// read returns the functions that ran.
func read(dir string) ([]string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "tool", "covdata", "func", "-i="+dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool covdata: %w", err)
	}
	var entered []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		at, ours := strings.CutPrefix(f[0], "parley/internal/")
		layer, _, _ := strings.Cut(at, "/")
		if ours && slices.Contains(layers, layer) && f[len(f)-1] != "0.0%" {
			entered = append(entered, at+" "+f[1])
		}
	}
	slices.Sort(entered)
	return entered, nil
}

// reached is an engine that only reports that a request has reached it.
type reached func()

// Run ends the turn at once.
func (f reached) Run(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		f()
		yield(nil, &chat.Error{Kind: chat.Unavailable})
	}
}

// none is a server without documents.
type none struct{}

func (none) Document(context.Context, retrieval.Filter, string) (retrieval.Document, error) {
	return retrieval.Document{}, retrieval.ErrNotFound
}
func (none) OpenBlob(string) (io.ReadSeekCloser, error) { return nil, retrieval.ErrNotFound }
func (none) Ready(context.Context) error                { return nil }
func (none) Ingestion() server.Ingestion                { return server.Ingestion{} }
