package wiretest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// Log is a slog.Handler that keeps the levels and texts of its records. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	levels []string
	text   strings.Builder
}

// Levels returns the levels of the records, separated by spaces.
func (l *Log) Levels() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.levels, " ")
}

// Text returns the messages and attributes of the records.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Enabled returns true.
func (l *Log) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs returns l.
func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup returns l.
func (l *Log) WithGroup(string) slog.Handler { return l }

// Handle keeps a record.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.levels = append(l.levels, r.Level.String())
	l.text.WriteString(r.Message + " ")
	r.Attrs(func(a slog.Attr) bool { l.text.WriteString(a.String() + " "); return true })
	return nil
}
