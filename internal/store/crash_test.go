package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/turn"
)

// crashDir is the environment variable that makes a test process the child that is killed.
const crashDir = "PARLEY_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// The contents of one batch of the child. All of it must be stored, or none.
const (
	crashDocuments = 3
	crashChunks    = 20
)

// writeUntilKilled applies batches and saves turns. After each batch it prints the batch's number
// as an acknowledgement.
func writeUntilKilled(dir string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	first, err := db.Corpus().Version(ctx)
	if err != nil {
		return err
	}
	for n := first; ; n++ {
		sha, _, err := db.Blobs().Put(ctx, strings.NewReader(fmt.Sprintf("blob %d", n)))
		if err != nil {
			return err
		}
		if err := applyCrashBatch(ctx, db.Corpus(), n, sha); err != nil {
			return err
		}
		if err := saveCrashTurn(ctx, db.State(), n); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func crashNamespace(n int64) string { return fmt.Sprintf("ns%06d", n) }

func applyCrashBatch(ctx context.Context, c *store.Corpus, n int64, sha string) error {
	b := retrieval.Batch{Namespace: crashNamespace(n), PutRoots: []retrieval.Root{{Path: "/r"}}}
	rev, err := c.NextRevisions(ctx, crashDocuments)
	if err != nil {
		return err
	}
	segment := retrieval.Segment{Data: make([]byte, 100<<10)}
	for i := range crashDocuments {
		p := retrieval.Put{Document: retrieval.Document{ID: fmt.Sprintf("%d-%d", n, i), Revision: rev + int64(i),
			Name: fmt.Sprint(i), SHA256: sha}}
		for ordinal := range crashChunks {
			p.Chunks = append(p.Chunks, retrieval.Chunk{Text: strings.Repeat("text ", 200),
				Key: retrieval.ChunkKey{Revision: p.Document.Revision, Ordinal: ordinal}, Spans: []retrieval.Span{{End: 5}}})
		}
		b.Put = append(b.Put, p)
		segment.Revisions = append(segment.Revisions, p.Document.Revision)
	}
	b.AddSegments = []retrieval.Segment{segment}
	_, err = c.Apply(ctx, b)
	return err
}

func saveCrashTurn(ctx context.Context, s *store.State, n int64) error {
	scope := turn.Scope{Namespace: "ns"}
	seen := int64(0)
	if c, err := s.Conversation(ctx, scope, "c", 1); err == nil {
		seen = c.Completed
	}
	return s.Save(ctx, turn.Record{ID: fmt.Sprintf("turn%06d", n), Scope: scope, ConversationID: "c", Seen: seen,
		Status:   chat.StatusCompleted,
		Question: chat.TextMessage(llm.User, fmt.Sprint(n)),
		Answers:  []turn.Answer{{Message: chat.TextMessage(llm.Assistant, fmt.Sprint(n)), Status: chat.StatusCompleted}}})
}

func TestStore_SurvivesKill(t *testing.T) {
	rounds := 22
	if testing.Short() {
		rounds = 4
	}
	dir := t.TempDir()
	acknowledged := map[int64]bool{}
	for range rounds {
		for _, n := range runAndKill(t, dir, 1+rand.IntN(5)) {
			acknowledged[n] = true
		}
		checkIntegrity(t, dir)
		checkBatches(t, dir, acknowledged)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d batches acknowledged over %d kills", len(acknowledged), rounds)
}

// runAndKill starts the child, kills it at a random moment after the given number of acknowledged
// batches, and returns their numbers.
func runAndKill(t *testing.T, dir string, batches int) (acknowledged []int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	// Kill it within the next batch or two.
	delay := time.Duration(rand.IntN(10_000)) * time.Microsecond
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var n int64
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			t.Fatalf("child printed %q", lines.Text())
		}
		if acknowledged = append(acknowledged, n); len(acknowledged) == batches {
			time.AfterFunc(delay, func() { child.Process.Kill() })
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("child ended by itself: %v", err)
	}
	return acknowledged
}

func checkIntegrity(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"corpus.db", "state.db"} {
		db, err := sql.Open("sqlite", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
			var result string
			err := db.QueryRow("PRAGMA " + pragma).Scan(&result)
			if ok := pragma == "integrity_check" && result == "ok" || err == sql.ErrNoRows; !ok {
				t.Errorf("%s of %s: %q, %v", pragma, name, result, err)
			}
		}
	}
}

// checkBatches checks that every stored batch is whole and that every acknowledged batch is stored.
func checkBatches(t *testing.T, dir string, acknowledged map[int64]bool) {
	t.Helper()
	ctx := t.Context()
	db, err := store.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	version, err := db.Corpus().Version(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for n := range version {
		ns := crashNamespace(n)
		snap, err := db.Corpus().Snapshot(ctx, ns)
		if err != nil || len(snap.Current) != crashDocuments || len(snap.Segments) != 1 {
			t.Fatalf("batch %d of %d: %d documents, %d segments, %v", n, version, len(snap.Current), len(snap.Segments), err)
		}
		docs, err := db.Corpus().AllDocuments(ctx, ns, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			chunks, err := db.Corpus().RevisionChunks(ctx, d.Revision)
			if err != nil || len(chunks) != crashChunks {
				t.Errorf("batch %d: document with %d chunks, %v", n, len(chunks), err)
			}
			f, err := db.Blobs().Open(d.SHA256)
			if err != nil {
				t.Errorf("batch %d: %v", n, err)
				continue
			}
			f.Close()
		}
	}
	for n := range acknowledged {
		if n >= version {
			t.Errorf("acknowledged batch %d is gone: version is %d", n, version)
		}
		r, err := db.State().Turn(ctx, turn.Scope{Namespace: "ns"}, fmt.Sprintf("turn%06d", n))
		if err != nil || len(r.Answers) != 1 {
			t.Errorf("acknowledged turn %d: %d answers, %v", n, len(r.Answers), err)
		}
	}
}
