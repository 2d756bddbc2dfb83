package ingest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/extract"
)

// However many files meet a busy machine, the same run reads all of them in the end: it tries each
// again, alone.
func TestRun_TriesFilesAgainUntilTheMachineHasTimeForThem(t *testing.T) {
	for _, n := range []int{1, 3, len(busyPauses)} {
		b := newBench(t)
		b.cfg.Workers = 4
		for i := range 6 {
			b.write(fmt.Sprintf("%d.md", i), fmt.Sprintf("Alpha %d.", i))
		}
		var mu sync.Mutex
		tries, reading, together, waits := map[string]int{}, 0, 0, 0
		b.cfg.pause = func(context.Context, time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			waits++
			return nil
		}
		b.extractor.before = func(_ context.Context, name string) error {
			mu.Lock()
			tries[name]++
			again := tries[name] > 1
			reading++
			if again && reading > 1 {
				together++
			}
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			reading--
			if tries[name] <= n {
				return &extract.Error{Reason: extract.Busy, Detail: "as asked"}
			}
			return nil
		}
		b.want(b.run(), counts{Indexed: 6})
		if together > 0 || waits != 6*n {
			t.Errorf("busy %d times: %d tries beside others, %d waits", n, together, waits)
		}
	}
}

// A file that has used up its own time is not tried again.
func TestRun_DoesNotWaitForAFileThatTakesTooLong(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.extractor.before = func(context.Context, string) error {
		return &extract.Error{Reason: extract.Timeout, Detail: "as asked"}
	}
	b.want(b.run(), counts{Failed: 1})
	if read := b.extractor.take(); len(read) != 1 {
		t.Errorf("read %q, want it once", strings.Join(read, " "))
	}
}

func TestRun_EndsWithItsContextWhileAFileWaits(t *testing.T) {
	b := newBench(t)
	b.cfg.pause = nil
	b.write("a.md", "BUSY")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := New(b.cfg).Run(ctx, []string{b.dir}, nil); ctx.Err() == nil || err == nil {
		t.Errorf("Run = %v, want the end of its context", err)
	}
}
