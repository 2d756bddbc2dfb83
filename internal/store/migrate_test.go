package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/retrieval"
	"parley/internal/store/pagesum"
	"parley/internal/turn"
)

// In the old schema the ledger also holds intents, and texts of turns are in the order of storing.
func TestMigrate_SplitsTheLedgerAndKeepsWhatTurnsSaid(t *testing.T) {
	dir := t.TempDir()
	writeOld(t, dir, "state", 6,
		`INSERT INTO turns (id, namespace, owner, position, status, error_kind, query, requested_model, model, input_tokens,
			output_tokens, cached_tokens, reasoning_tokens, estimated, stages, first_token, started_at, finished_at)
			VALUES ('t', 'ns', 'alice', 0, 'completed', 0, '', '', '', 0, 0, 0, 0, 0,
			'[{"stage":"history","duration":5,"usage":{"input":0,"output":0,"cached":0,"reasoning":0,"estimated":false}}]', 0, 1, 2)`,
		`INSERT INTO said (turn_id, events, failed, error_kind, error, finished_at) VALUES ('t', x'7b7d', 0, 0, '', 2)`,
		`INSERT INTO ledger (id, namespace, owner, conversation_id, turn_id, stage, provider, model, status, estimated_input, input_tokens,
			output_tokens, cached_tokens, reasoning_tokens, estimated, cost_micros, created_at, settled_at, account_user) VALUES
			('e1', 'ns', 'alice', '', 't', 'generate', 'openai', 'm', 'completed', 40, 41, 9, 3, 2, 1, NULL, 5, 6, 'u'),
			('e2', 'ns', 'alice', 'c', 't', 'generate', 'openai', 'm', 'intent', 40, 0, 0, 0, 0, 0, NULL, 7, NULL, '')`)

	s := mustOpen(t, dir).State()
	scope := turn.Scope{Namespace: "ns", Owner: "alice"}
	settled := ledger.Entry{ID: "e1", TurnID: "t", Scope: scope, Account: chat.Account{User: "u"}, Stage: chat.StageGenerate, Provider: "openai",
		Model: "m", Status: ledger.Completed, EstimatedInput: 40, CreatedAt: fromMicros(5), SettledAt: fromMicros(6)}
	settled.Usage.Input, settled.Usage.Output, settled.Usage.Cached, settled.Usage.Reasoning, settled.Usage.Estimated = 41, 9, 3, 2, true
	open := ledger.Entry{ID: "e2", TurnID: "t", ConversationID: "c", Scope: scope, Stage: chat.StageGenerate, Provider: "openai",
		Model: "m", Status: ledger.Intent, EstimatedInput: 40, CreatedAt: fromMicros(7)}
	entries, err := s.Entries(t.Context(), "t")
	if diff := cmp.Diff([]ledger.Entry{settled, open}, entries); diff != "" || err != nil {
		t.Errorf("entries (-want +got), %v:\n%s", err, diff)
	}
	unsettled, err := s.Unsettled(t.Context(), 10)
	if diff := cmp.Diff([]ledger.Entry{open}, unsettled); diff != "" || err != nil {
		t.Errorf("unsettled (-want +got), %v:\n%s", err, diff)
	}
	said, err := s.Said(t.Context(), "t")
	if string(said.Events) != "{}" || said.Scope != scope || err != nil {
		t.Errorf("said %+v, %v", said, err)
	}
	r, err := s.Turn(t.Context(), scope, "t")
	if diff := cmp.Diff([]chat.StageFinished{{Stage: chat.StageHistory, Duration: 5}}, r.Stages); diff != "" || err != nil {
		t.Errorf("stages (-want +got), %v:\n%s", err, diff)
	}
}

func TestMigrate_BringsChunksIntoTheirOrder(t *testing.T) {
	dir := t.TempDir()
	chunk := retrieval.Chunk{Key: retrieval.ChunkKey{Revision: 7, Ordinal: 1}, Tokens: 3, Text: "the second",
		Spans: []retrieval.Span{{Page: 1, Start: 4, End: 14}}, Headings: []string{"Title"}}
	writeOld(t, dir, "corpus", 1,
		`INSERT INTO documents (id, namespace, owner, revision, name, title, url, category, media_type, restricted, sha256, size,
			pages, chunks, generation, indexed_at) VALUES ('a', 'ns', '', 7, 'a', '', '', '', '', 0, '', 0, 1, 2, '', 0)`,
		fmt.Sprintf(`INSERT INTO chunks (revision, ordinal, tokens, layout, body) VALUES
			(7, 1, 3, x'%x', 'the second'), (7, 0, 2, x'010000', 'the first')`, encodeLayout(chunk.Spans, chunk.Headings)))

	c := mustOpen(t, dir).Corpus()
	if all, err := c.Unembedded(t.Context(), 1, retrieval.ChunkKey{}, 10); len(all) != 2 || err != nil {
		t.Errorf("%d chunks without a vector (%v), want 2", len(all), err)
	}
	found, err := c.Chunks(t.Context(), "ns", []retrieval.ChunkKey{chunk.Key})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d chunks found, %v", len(found), err)
	}
	if diff := cmp.Diff(chunk, found[0].Chunk); diff != "" {
		t.Errorf("chunk (-want +got):\n%s", diff)
	}
	if _, err := c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Delete: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if left, err := c.RevisionChunks(t.Context(), 7); len(left) > 0 || err != nil {
		t.Errorf("%d chunks are left of a document that was deleted, %v", len(left), err)
	}
}

func TestOpen_GivesDatabasesOfOldVersionsChecksums(t *testing.T) {
	for name, version := range map[string]int{"corpus": 5, "state": 7} {
		dir := t.TempDir()
		writeOld(t, dir, name, version, "CREATE TABLE old (body TEXT)", "INSERT INTO old VALUES ('a word of old')")
		if err := mustOpen(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".db")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := overwrite(path, int64(bytes.LastIndex(data, []byte("a word of old"))), "A"); err != nil {
			t.Fatal(err)
		}
		db, err := openDatabase(t.Context(), path, name, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer db.close()
		var body string
		err = db.fail("read", db.read.QueryRow("SELECT body FROM old").Scan(&body))
		if _, ok := errors.AsType[*DamagedError](err); !ok {
			t.Errorf("%s with a changed byte: %q, %v", name, body, err)
		}
	}
}

func TestOpen_LeavesADatabaseWithPagesOfAnotherSizeWithoutChecksums(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	small, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = small.Exec("PRAGMA page_size = 1024; VACUUM")
	if err := errors.Join(err, small.Close()); err != nil {
		t.Fatal(err)
	}
	writeOld(t, dir, "state", 7, "CREATE TABLE old (body TEXT)", "INSERT INTO old VALUES ('a word of old')",
		"CREATE TABLE gone AS SELECT zeroblob(1000000)", "DROP TABLE gone")
	for range 2 {
		db := mustOpen(t, dir)
		var body string
		var size, free int
		err := db.state.db.read.QueryRow("SELECT body, page_size, freelist_count FROM old, pragma_page_size, pragma_freelist_count").
			Scan(&body, &size, &free)
		if body != "a word of old" || size != 1024 || err != nil {
			t.Errorf("%q in pages of %d bytes, %v", body, size, err)
		}
		if free == 0 { // with no free pages, a VACUUM at each start would be useless
			t.Error("the database was written anew")
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpen_LeavesADatabaseWithoutALogWithoutChecksums(t *testing.T) {
	dir := t.TempDir()
	writeOld(t, dir, "state", 7)
	path := filepath.Join(dir, "state.db")
	unlogged := slices.Clone(pragmas)
	unlogged[slices.Index(unlogged, "journal_mode(WAL)")] = "journal_mode(DELETE)"
	d := &database{path: path}
	var err error
	if d.write, err = sql.Open("sqlite", dsn(path, unlogged)); err != nil {
		t.Fatal(err)
	}
	d.read = d.write
	if err := d.addSums(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if s, err := d.sums(t.Context()); err != nil || s.marked || s.reserved || s.logged {
		t.Errorf("%+v, %v", s, err)
	}
	if err := errors.Join(d.write.Close(), mustOpen(t, dir).Close()); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, dir).state.db
	if s, err := again.sums(t.Context()); err != nil || !s.marked {
		t.Errorf("once it has a log: %+v, %v", s, err)
	}
}

// writeOld creates a database with the given number of migrations and without checksums, as an
// earlier version of Parley did, and runs queries in it.
func writeOld(t *testing.T, dir, name string, version int, queries ...string) {
	t.Helper()
	old, err := sql.Open("sqlite", strings.Replace(dsn(filepath.Join(dir, name+".db"), pragmas), "vfs="+pagesum.VFS+"&", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	all, err := readMigrations(name)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := old.Begin()
	if err == nil {
		err = applyMigrations(t.Context(), tx, all[:version])
	}
	for _, query := range queries {
		if err == nil {
			_, err = tx.Exec(query)
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}
