// Package audit keeps a log of who did what: sign-ins, refusals, and changes of documents, keys and sessions. Entries are added
// and read, never changed; they are removed only when they are old. They hold no secrets, questions or answers.
package audit

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/internal/ident"
)

// Action names an action that somebody took or tried.
type Action string

// The actions.
const (
	SignIn  Action = "sign-in"  // on the web page; keys and tokens sign in with each request
	SignOut Action = "sign-out" // on the web page
	Refused Action = "refused"  // a request without the right that it needs, or without a valid key or token
	Change  Action = "change"   // of documents, keys, sessions or jobs
	Start   Action = "start"    // the start of a server; its settings apply until its next start
)

// Actions are all actions.
var Actions = []Action{SignIn, SignOut, Refused, Change, Start}

// Entry is one line of the log.
type Entry struct {
	ID      string    `json:"id"` // in the order of their times
	At      time.Time `json:"at"`
	Action  Action    `json:"action"`
	Subject string    `json:"subject"`          // "" for a caller without sign-in; "local:NAME" for a command on the machine
	From    string    `json:"from,omitempty"`   // address of the connection, which may be a proxy's
	What    string    `json:"what,omitempty"`   // the method and the path of a request, or a command
	Object  string    `json:"object,omitempty"` // what was changed, where What does not say it
	Status  int       `json:"status,omitempty"` // of the answer
	Why     string    `json:"why,omitempty"`    // of a refusal
}

// Query selects entries. Zero fields select all.
type Query struct {
	From, To time.Time // To is not included
	Subject  string
	Action   Action
	After    string // id of the last entry that the caller has
	Limit    int    // 0 means all
}

// Store keeps entries.
type Store interface {
	// AddAudit stores an entry.
	AddAudit(ctx context.Context, e Entry) error
}

// Log writes entries. It is made by New and safe for concurrent use.
type Log struct {
	store Store
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	minute  time.Time
	refused int // in that minute
}

// Requests that are refused are written as they come up to this number a minute, so that a flood does not fill the disk.
const refusedPerMinute = 60

// writeTime is the time limit for writing an entry, which goes on after its request has ended.
const writeTime = 10 * time.Second

// New returns a log over a store.
func New(store Store, log *slog.Logger, now func() time.Time) *Log {
	return &Log{store: store, log: log, now: now}
}

// Note sets the ID and the time of an entry and writes it. An entry that cannot be written is reported in the server's log; the
// action that it records stands.
func (l *Log) Note(ctx context.Context, e Entry) {
	now := l.now().UTC()
	if e.Action == Refused {
		more, write := l.count(now)
		if more > 0 {
			l.add(ctx, Entry{At: now, Action: Refused, Why: fmt.Sprintf("%d more requests were refused and not written", more)})
		}
		if !write {
			return
		}
	}
	e.At = now
	l.add(ctx, e)
}

// count counts a refusal. It returns whether to write it, and how many refusals of an earlier minute were not written.
func (l *Log) count(now time.Time) (more int, write bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if minute := now.Truncate(time.Minute); !minute.Equal(l.minute) {
		more = max(0, l.refused-refusedPerMinute)
		l.minute, l.refused = minute, 0
	}
	l.refused++
	return more, l.refused <= refusedPerMinute
}

func (l *Log) add(ctx context.Context, e Entry) {
	e.ID = ident.New()
	for _, text := range []*string{&e.Subject, &e.From, &e.What, &e.Object, &e.Why} {
		*text = bounded(*text)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := l.store.AddAudit(ctx, e); err != nil {
		l.log.Error("the audit log cannot be written", "action", string(e.Action), "subject", e.Subject, "error", err)
	}
}

// bounded returns a text that every database takes: valid, without NUL, and not long.
func bounded(s string) string {
	const most = 500 // bytes
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	for len(s) > most {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:min(most+1, len(s)-size)]
		s = strings.ToValidUTF8(s, "")
	}
	return s
}
