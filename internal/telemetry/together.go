package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// together holds at most mostHeld spans, each for at most longestHeld.
const (
	mostHeld    = 64
	longestHeld = time.Second
)

// together hands ended spans on in groups. The batch processor behind it wakes its goroutine for each span that it gets while
// it waits, which costs more than the span itself.
type together struct {
	sdktrace.SpanProcessor

	mu    sync.Mutex
	held  []sdktrace.ReadOnlySpan
	timer *time.Timer // hands on what is held; runs while there is something
}

func newTogether(next sdktrace.SpanProcessor) *together {
	t := &together{SpanProcessor: next}
	t.timer = time.AfterFunc(longestHeld, t.handOn)
	t.timer.Stop()
	return t
}

// OnEnd implements sdktrace.SpanProcessor.
func (t *together) OnEnd(s sdktrace.ReadOnlySpan) {
	t.mu.Lock()
	if t.held = append(t.held, s); len(t.held) == 1 {
		t.timer.Reset(longestHeld)
	}
	full := len(t.held) >= mostHeld
	t.mu.Unlock()
	if full {
		t.handOn()
	}
}

// Shutdown implements sdktrace.SpanProcessor.
func (t *together) Shutdown(ctx context.Context) error {
	t.handOn()
	return t.SpanProcessor.Shutdown(ctx)
}

// ForceFlush implements sdktrace.SpanProcessor.
func (t *together) ForceFlush(ctx context.Context) error {
	t.handOn()
	return t.SpanProcessor.ForceFlush(ctx)
}

func (t *together) handOn() {
	t.mu.Lock()
	t.timer.Stop()
	spans := slices.Clone(t.held)
	clear(t.held)
	t.held = t.held[:0]
	t.mu.Unlock()
	for _, s := range spans {
		t.SpanProcessor.OnEnd(s)
	}
}
