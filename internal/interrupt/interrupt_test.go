package interrupt_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/interrupt"
)

func TestSleep_TakesItsTimeUnlessTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := interrupt.Sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("slept %v, error %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		if err := interrupt.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("slept %v, error %v; the context ended after a minute", time.Since(start), err)
		}
	})
}

func TestReader_FailsWhenItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := interrupt.Reader(ctx, strings.NewReader("abcdef"))
	if n, err := r.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Fatalf("read %d bytes, error %v", n, err)
	}
	cancel()
	if n, err := io.ReadAll(r); len(n) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("read %q, error %v, after the context ended", n, err)
	}
}
