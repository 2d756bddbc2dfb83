package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	busyPace   = 25 * time.Millisecond // between two questions
	idleWindow = 5 * time.Second
	busyWindow = 20 * time.Second // at most; less if the ingestion ends sooner
)

// busy measures the time of answers on an idle server, and on a server that ingests the odd and
// hostile documents of the folder shared. It measures an idle window before each of their folders.
func (b *bench) busy(ctx context.Context) error {
	dir, err := b.sharedPath("data", "docs-robust")
	if err != nil {
		return err
	}
	p, err := b.passages(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var idle, busy []time.Duration
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		data := filepath.Join(b.work, "busy-"+e.Name())
		if err := os.CopyFS(data, os.DirFS(p.data)); err != nil {
			return fmt.Errorf("copy the indexed passages: %w", err)
		}
		quiet, err := b.answering(ctx, p, data, idleWindow)
		if err != nil {
			return err
		}
		during, err := b.answering(ctx, p, data, busyWindow, filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		idle, busy = append(idle, quiet...), append(busy, during...)
		if err := os.RemoveAll(data); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("answers from %d passages, ", p.stats.Documents)
	b.add(what+"idle, p50 / p99", "", "%.1f / %.1f ms (%d)", ms(median(idle)), ms(quantile(idle, .99)), len(idle))
	b.add(what+"while docs-robust is ingested, p50 / p99", "p99 ≤ 2 × idle", "%.1f / %.1f ms (%d), p99 %.1f × idle",
		ms(median(busy)), ms(quantile(busy, .99)), len(busy), float64(quantile(busy, .99))/float64(quantile(idle, .99)))
	return nil
}

// answering asks a server questions for a window of time, or until it has finished its ingestion,
// and returns the time of each answer.
func (b *bench) answering(ctx context.Context, p *passages, data string, window time.Duration, paths ...string) ([]time.Duration, error) {
	s, _, err := b.parley(ctx, data, paths...)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	for _, q := range p.queries[:10] { // warm-up
		if err := ask(ctx, s.url("/chat"), q.Text); err != nil {
			return nil, err
		}
	}
	var took []time.Duration
	tick := time.NewTicker(busyPace)
	defer tick.Stop()
	for end := time.Now().Add(window); time.Now().Before(end); {
		began := time.Now()
		if err := ask(ctx, s.url("/chat"), p.queries[len(took)%len(p.queries)].Text); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if len(paths) > 0 && len(took)%10 == 0 {
			running, err := s.ingests(ctx)
			if err != nil || !running {
				return took, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return took, nil
}

// ingests reports whether the server's ingestion at start is still running.
func (s *server) ingests(ctx context.Context) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url("/readyz"), nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return false, err
	}
	var status struct{ Ingestion struct{ Running bool } }
	if err := json.Unmarshal(body, &status); err != nil {
		return false, fmt.Errorf("read %s: %w", req.URL, err)
	}
	return status.Ingestion.Running, nil
}
