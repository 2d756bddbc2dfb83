package storetest

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // needs the driver alone, to fill tables quickly

	"parley/internal/store/pagesum"
)

// GrownID is the id of the i-th turn, conversation and document of Grow, counted from 1.
func GrownID(i int) string { return fmt.Sprintf("01JGROWN%018d", i) }

// made is a table of numbers with their GrownID.
const made = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @n), made (i, id) AS
	(SELECT i, '01JGROWN' || printf('%018d', i) FROM n) `

// Grow inserts the rows of n turns in n conversations and of n documents. The data folder dir is
// open, with checksums. All times are old: 1970, a microsecond apart.
func Grow(t testing.TB, dir, namespace string, n int) {
	t.Helper()
	for name, inserts := range map[string][]string{
		"state.db": {
			`INSERT INTO conversations (id, namespace, owner, kind, turns, completed, created_at, updated_at)
				SELECT id, @ns, '', 'ragchat', 1, 1, i, i FROM made`,
			`INSERT INTO turns (id, namespace, owner, conversation_id, position, status, error_kind, query, requested_model, model,
				input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated, stages, first_token, started_at, finished_at)
				SELECT id, @ns, '', id, 1, 'completed', 0, 'question', '', 'm', 1, 1, 0, 0, 0, '[]', 1, i, i FROM made`,
			`INSERT INTO messages (turn_id, position, id, role, agent, status, parts, citations, finish_reason, model, tokens,
				input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated, created_at)
				SELECT id, 0, id, 'user', '', 'completed', '[{"text":"question"}]', 'null', '', '', 1, 0, 0, 0, 0, 0, i FROM made`,
			`INSERT INTO ledger (id, namespace, owner, conversation_id, account_user, account_conversation, turn_id, stage, provider,
				model, status, estimated_input, input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated,
				cost_micros, created_at, settled_at) SELECT id, @ns, '', id, '', '', id, 'generate', 'openai',
				'm', 'completed', 1, 1, 1, 0, 0, 0, 1, i, i FROM made`,
			`INSERT INTO accounts (owner, stored, account_user, conversation, turns, embedding_tokens, embedding_micros, input_tokens,
				output_tokens, micros, unpriced, estimated) SELECT '', 1, '', id, 1, 0, 0, 1, 1, 1, 0, 0 FROM made`,
			`INSERT INTO said (turn_id, failed, error_kind, error, finished_at, events) SELECT id, 0, 0, '', i, x'7b7d' FROM made`,
		},
		"corpus.db": {
			`INSERT INTO documents (id, namespace, owner, revision, name, title, url, category, media_type, restricted, sha256, size,
				pages, chunks, generation, indexed_at) SELECT id, @ns, '', i, id, '', '', '', '', 0, '', 1, 1, 1, 'g', i FROM made`,
			`INSERT INTO chunks (id, tokens, layout, body) SELECT i << 24, 10, x'0100' || x'00', 'a chunk of some words' FROM made`,
		},
	} {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, name)), OmitHost: true}
		db, err := sql.Open("sqlite", u.String()+"?vfs="+pagesum.VFS+"&_pragma=synchronous(0)")
		if err != nil {
			t.Fatal(err)
		}
		for _, insert := range inserts {
			table, rest, _ := strings.Cut(insert, "SELECT ")
			if _, err := db.ExecContext(t.Context(), table+made+"SELECT "+rest, sql.Named("n", n), sql.Named("ns", namespace)); err != nil {
				t.Fatalf("%v: %s", err, table)
			}
		}
		if _, err := db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// CompareGrown runs one operation alternately on an empty and a grown store, and reports the
// medians of their times. "grown/empty" should be about 1.
func CompareGrown(b *testing.B, empty, grown func() error) {
	b.Helper()
	var took [2][]time.Duration
	for b.Loop() {
		for i, run := range []func() error{empty, grown} {
			began := time.Now()
			if err := run(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	var median [2]float64
	for i, all := range took {
		slices.Sort(all)
		median[i] = float64(all[len(all)/2].Nanoseconds())
	}
	b.ReportMetric(0, "ns/op") // it would be the average of both
	b.ReportMetric(median[0], "empty-ns")
	b.ReportMetric(median[1], "grown-ns")
	b.ReportMetric(median[1]/median[0], "grown/empty")
}
