package main

import (
	"context"
	"time"

	"parley/internal/interrupt"
	"parley/internal/store"
)

// roomInterval is the time between two checks of what was stored since the server last made room.
const roomInterval = 2 * time.Second

// keepRoom enforces the quotas of anonymous callers: at the start, and whenever a hundredth of the smallest quota has been
// stored since the last time.
func (s *serving) keepRoom(ctx context.Context) {
	quota := store.Quota{
		Room:   roomFor(s.cfg.LimitsChats),
		Origin: roomFor(s.cfg.LimitsAddressChats),
	}
	const leastSize = 512 // minimum weight in bytes that the store gives a chat
	step := int64(1 << 40)
	for _, r := range []store.Room{quota.Room, quota.Origin} {
		step = min(step, orUnlimited(r.Bytes), orUnlimited(int64(r.Chats)*leastSize))
	}
	step = max(1, step/100)
	looked := -step
	for {
		if grown := s.db.Grown(); grown-looked >= step {
			looked = grown
			s.makeRoom(ctx, quota)
		}
		if interrupt.Sleep(ctx, roomInterval) != nil {
			return
		}
	}
}

// meanChat is the assumed mean size in bytes of a chat.
const meanChat = 100 << 10

// roomFor returns the room for a number of chats; 0 means no limit.
func roomFor(chats int) store.Room {
	return store.Room{Chats: chats, Bytes: int64(chats) * meanChat}
}

func (s *serving) makeRoom(ctx context.Context, quota store.Quota) {
	evicted, err := s.db.MakeRoom(ctx, quota)
	for _, e := range evicted {
		s.metrics.Evicted(e.Kind, e.N)
		s.log.Warn("deleted the oldest chats of people without sign-in: they exceeded limits.chats or limits.address_chats, in number or in size",
			"kind", e.Kind, "count", e.N)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("delete chats over the quota", "error", err)
	}
}

// orUnlimited returns n, or a very large number if n is 0, which means no limit.
func orUnlimited(n int64) int64 {
	if n <= 0 {
		return 1 << 40
	}
	return n
}
