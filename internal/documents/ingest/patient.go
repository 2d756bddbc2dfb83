package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"parley/internal/extract"
	"parley/internal/interrupt"
)

// patient is an Extractor that retries a file for which the machine was too busy, alone and after a pause. After the
// last attempt the file stays Busy, and the next run tries it again.
type patient struct {
	Extractor
	meter  *meter
	logger *slog.Logger
	wait   func(ctx context.Context, d time.Duration) error

	alone sync.RWMutex // extractions hold it for reading, except one that must run alone
}

// newPatient returns the extractor of a run.
func newPatient(cfg Config, m *meter) *patient {
	p := &patient{Extractor: cfg.Extractor, meter: m, logger: cfg.Logger, wait: cfg.pause}
	if p.wait == nil {
		p.wait = interrupt.Sleep
	}
	return p
}

// busyPauses are the pauses before each retry of a file.
var busyPauses = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, time.Minute, time.Minute,
}

// Extract reads a file.
func (p *patient) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	p.alone.RLock()
	x, err := p.Extractor.Extract(ctx, r)
	p.alone.RUnlock()
	if !isBusy(err) {
		return x, err
	}
	p.meter.add(func(now *Progress) { now.Waiting++ })
	defer p.meter.add(func(now *Progress) { now.Waiting-- })
	for _, pause := range busyPauses {
		p.logger.Info("the machine has no time for a file; it is tried again", "file", r.Name, "after", pause)
		if err := p.wait(ctx, pause); err != nil {
			return nil, err
		}
		if x, err = p.readAlone(ctx, r); !isBusy(err) {
			break
		}
	}
	return x, err
}

func (p *patient) readAlone(ctx context.Context, r extract.Request) (*extract.Result, error) {
	p.alone.Lock()
	defer p.alone.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.Spool != "" { // left by the previous attempt
		if err := os.RemoveAll(r.Spool); err != nil {
			return nil, fmt.Errorf("empty a spool: %w", err)
		}
	}
	return p.Extractor.Extract(ctx, r)
}

func isBusy(err error) bool {
	refused, ok := errors.AsType[*extract.Error](err)
	return ok && refused.Reason == extract.Busy
}
