package store

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
)

// Some tests open databases without the store. The allocation must come first.
var _ = allocatePageCache()

// If the page cache came from the allocator, a server's memory would grow for hours; see
// cachedPages.
func TestPageCache_KeepsToItsArrayUnderReadsAndWrites(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	if err := fillCorpus(t.Context(), db.Corpus()); err != nil {
		t.Fatal(err)
	}
	const writers, turns = 4, 400 // of 10 KiB each: three times the capacity of the array
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for n := range turns {
				id := fmt.Sprintf("%d-%d", w, n)
				err := db.State().Save(t.Context(), turn.Record{ID: id, Status: chat.StatusCompleted,
					Question: chat.TextMessage(llm.User, "question"),
					Answers:  []turn.Answer{{Message: chat.TextMessage(llm.Assistant, strings.Repeat("answer ", 1500))}}})
				if err == nil {
					_, err = db.State().Turn(t.Context(), turn.Scope{}, id)
				}
				if err == nil {
					_, err = db.Corpus().Chunks(t.Context(), "ns", []retrieval.ChunkKey{{Revision: int64(1 + n%20)}})
				}
				if err != nil {
					t.Errorf("turn %s: %v", id, err)
					return
				}
			}
		})
	}
	work.Wait()
	used, beyond := status(t, sqlite3.SQLITE_STATUS_PAGECACHE_USED), status(t, sqlite3.SQLITE_STATUS_PAGECACHE_OVERFLOW)
	if used < cachedPages/2 || used > cachedPages || beyond > 256<<10 {
		t.Errorf("%d of %d pages are in use, and %d bytes beyond them", used, cachedPages, beyond)
	}
}

// status asks SQLite for one of its counters.
func status(t *testing.T, of int32) int {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	const int64Size = 8
	values := libc.Xcalloc(tls, 2, int64Size) // the current value and the highest
	defer libc.Xfree(tls, values)
	if code := sqlite3.Xsqlite3_status64(tls, of, values, values+int64Size, 0); code != sqlite3.SQLITE_OK {
		t.Fatalf("ask for counter %d: code %d", of, code)
	}
	return int(binary.NativeEndian.Uint64(libc.GoBytes(values, int64Size)))
}
