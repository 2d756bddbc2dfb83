//go:build unix

package chatui

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/store"
	"parley/internal/transcript"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/wiretest"
)

// BenchmarkTurn measures the processor time of a streamed turn of 1,000 tokens over a real connection,
// with the client's share. The turn has the greatest length: 27 seconds with 20 events a second. A fake
// clock makes it take no real time. "ndjson" is the same turn in the AI Chat Protocol, one line a token.
func BenchmarkTurn(b *testing.B) {
	const total, events = 1000, 27 * 20
	b.Run("chatui", func(b *testing.B) {
		measure(b, func(w http.ResponseWriter, _ *http.Request) {
			now := time.Unix(1706301586, 0)
			board := newBoard(turn.NewLog("t"))
			h := handlerOf(nil, func(c *Config) { c.Now = func() time.Time { return now } })
			s := &session{h: h, x: &exchange{partials: true}, board: board, stream: wire.SSE(w)}
			sent, seen := 0, 0
			for range turn.Logged(b.Context(), wiretest.Tokens(total), &chat.Request{}, board.log, time.Now) {
				for seen++; sent < events && sent*total < seen*events; sent++ {
					now = now.Add(s.h.cfg.pace.event)
					if line, _, _ := s.next(now); line != nil {
						s.last = now
						if err := s.stream.Send(line); err != nil {
							b.Error(err)
						}
					}
				}
			}
		})
	})
	b.Run("ndjson", func(b *testing.B) {
		h := wiretest.Mount(azurechat.New(azurechat.Config{Base: wire.Base{Runner: wiretest.Tokens(total)}}).Protocol(), slog.New(slog.DiscardHandler))
		measure(b, func(w http.ResponseWriter, r *http.Request) {
			r.Method, r.URL.Path, r.Body = http.MethodPost, "/chat/stream", io.NopCloser(strings.NewReader(asked))
			h.ServeHTTP(w, r)
		})
	})
}

// measure calls a handler over a connection and reports the process's processor time.
func measure(b *testing.B, h http.HandlerFunc) {
	server := httptest.NewServer(h)
	defer server.Close()
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		response, err := server.Client().Get(server.URL)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			b.Fatal(err)
		}
		response.Body.Close()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkChats lists 10,000 chats of the real store.
func BenchmarkChats(b *testing.B) {
	db, err := store.Open(b.Context(), b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	h := serve(handlerOf(nil, func(c *Config) { c.Store = db.Transcripts() }))
	scope := transcript.Scope{Kind: transcript.ChatUI, Namespace: "default"}
	for n := range 10_000 {
		_, err := db.Transcripts().Save(b.Context(), scope, fmt.Sprintf("01JCHAT%019d", n), func(t *transcript.Transcript, _ bool) error {
			t.Mode, t.Title, t.LastMessage = standardMode, "What does the travel policy say about trains?", strings.Repeat("x", 50)
			t.UpdatedAt = time.UnixMicro(int64(1_700_000_000_000_000 + n))
			t.Messages = []transcript.Message{{Body: []byte(`{"role":"user","content":"x"}`)}}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/chat-history", nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
