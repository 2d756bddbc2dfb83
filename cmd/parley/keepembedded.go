package main

import (
	"context"
	"errors"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/interrupt"
)

// How often a server looks for documents without vectors, and how long it waits after a failure.
// The wait doubles after each further failure.
const (
	embedInterval  = 2 * time.Second
	embedRetry     = 15 * time.Second
	embedRetryMost = 10 * time.Minute
)

// maxByDefault limits what a server embeds if nobody has chosen the embedder: it embeds nothing if more chunks have no vector.
// The vectors of so many take 300 MB of memory, and one to three hours of a processor.
const maxByDefault = 200_000

// keepEmbedded embeds documents, whichever process ingested them, until ctx ends. It begins when
// ingested is closed.
func (s *serving) keepEmbedded(ctx context.Context, ingested <-chan struct{}) {
	if s.cfg.Embedding == "" {
		return
	}
	select {
	case <-ingested:
	case <-ctx.Done():
		return
	}
	embedded := int64(-1) // version of the corpus whose documents all have vectors
	for failures, wait := 0, time.Duration(0); interrupt.Sleep(ctx, wait) == nil; {
		version, err := s.db.Corpus().Version(ctx)
		if err == nil && version != embedded {
			err = s.embedOnce(ctx)
		}
		wait = embedInterval
		locked, elsewhere := errors.AsType[*ingest.LockedError](err)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			embedded, failures = version, 0
			if s.tooMany.Load() { // to count them takes long
				wait = embedRetryMost
			}
		case elsewhere:
			s.log.Debug("another process embeds", "process", locked.PID)
		default:
			if failures == 0 { // further failures are probably the same
				s.log.Error("embed documents; until it succeeds some are searched by their words only", "error", err)
			}
			wait = min(embedRetry<<min(failures, 10), embedRetryMost)
			failures++
		}
	}
}

// embedOnce embeds chunks without vectors, and updates the status.
func (s *serving) embedOnce(ctx context.Context) error {
	defer func() {
		s.mu.Lock()
		s.embedding = false
		s.mu.Unlock()
	}()
	if s.serversEmbed {
		plan, err := s.corpus.PlanEmbedding(ctx)
		if err != nil {
			return err
		}
		many := plan.Chunks > maxByDefault
		if before := s.tooMany.Swap(many); many && !before {
			s.log.Info("too many passages have no vectors to embed them by default; they are searched by words alone. To embed them, set embedding to the model",
				"passages", plan.Chunks, "model", plan.Model)
		}
		if many {
			return nil
		}
	}
	return s.embed(ctx, s.stdout, s.display, func(p embedProgress) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unembedded = max(p.plan.Chunks-p.report.Chunks, 0)
		s.embedding = p.plan.Chunks > 0
	})
}
