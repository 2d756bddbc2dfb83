package main

import (
	"context"
	"errors"
	"time"

	"parley/internal/interrupt"
	"parley/internal/store"
	"parley/internal/wire/ragchat"
	"parley/internal/wire/responses"
)

// checkStored returns damage to the databases that did not prevent opening them. Without the check,
// a server would answer from the intact part and write to the rest.
func (s *serving) checkStored(ctx context.Context) error {
	err := s.db.Check(ctx)
	if damaged, ok := errors.AsType[*store.DamagedError](err); ok {
		return damaged
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("check the databases", "error", err)
	}
	return nil // an incomplete check does not mean damage
}

// repairInterval is the wait after a failed repair of the index.
const repairInterval = 15 * time.Second

// keepWhole rebuilds missing index segments while the server answers, for example after a change of
// the analyser.
func (s *serving) keepWhole(ctx context.Context) {
	for {
		err := s.corpus.Repair(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.log.Error("repair the index; it is tried again", "error", err)
		if interrupt.Sleep(ctx, repairInterval) != nil {
			return
		}
	}
}

// houseInterval is the time between two deletions of old turns.
const houseInterval = 6 * time.Hour

// keepHouse regularly deletes expired rows.
func (s *serving) keepHouse(ctx context.Context) {
	tick := time.NewTicker(houseInterval)
	defer tick.Stop()
	for {
		if s.cfg.Retention > 0 {
			s.house(ctx, "delete old turns", func(ctx context.Context) (int, error) {
				return s.runner.Purge(ctx, time.Duration(s.cfg.Retention))
			})
			s.house(ctx, "delete old responses", func(ctx context.Context) (int, error) {
				return responses.Expire(ctx, s.db.Transcripts(), time.Now().Add(-time.Duration(s.cfg.Retention)))
			})
		}
		if s.cfg.ConversationsRetention > 0 {
			s.house(ctx, "delete old conversations", func(ctx context.Context) (int, error) {
				return s.db.ExpireConversations(ctx, time.Now().Add(-time.Duration(s.cfg.ConversationsRetention)))
			})
		}
		s.house(ctx, "forget deletions of users", func(ctx context.Context) (int, error) {
			_, err := s.db.Users().ForgetDeletions(ctx, time.Now())
			return 0, err
		})
		if s.cfg.RAGChatSessionExpiry > 0 {
			s.house(ctx, "delete unused sessions", func(ctx context.Context) (int, error) {
				return s.runner.Expire(ctx, ragchat.Kind, time.Duration(s.cfg.RAGChatSessionExpiry))
			})
		}
		s.house(ctx, "forget old jobs", s.documents.Purge)
		s.house(ctx, "remove documents that a re-index replaced", func(ctx context.Context) (int, error) {
			return 0, s.documents.SweepReplaced(ctx)
		})
		s.house(ctx, "forget idempotency keys", s.keys.Purge)
		if s.cfg.AuditRetention > 0 {
			s.house(ctx, "forget old entries of the audit log", func(ctx context.Context) (int, error) {
				return s.db.Audit().ForgetAudit(ctx, time.Now().Add(-time.Duration(s.cfg.AuditRetention)))
			})
		}
		s.house(ctx, "forget sessions", func(ctx context.Context) (int, error) {
			return s.db.Sessions().ForgetSessions(ctx, time.Now())
		})
		s.house(ctx, "delete old texts of turns", s.runner.Forget)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// expiryInterval is the time between two deletions of expired files and vector stores.
const expiryInterval = time.Minute

// keepExpiring regularly deletes what has expired.
func (s *serving) keepExpiring(ctx context.Context) {
	for interrupt.Sleep(ctx, expiryInterval) == nil {
		s.house(ctx, "delete what has expired", s.library.Sweep)
	}
}

// house runs one of these tasks and logs its result.
func (s *serving) house(ctx context.Context, doing string, do func(context.Context) (int, error)) {
	if n, err := do(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("housekeeping failed", "doing", doing, "error", err)
	} else if n > 0 {
		s.log.Info("housekeeping", "doing", doing, "count", n)
	}
}
