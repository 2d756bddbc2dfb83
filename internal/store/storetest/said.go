package storetest

import (
	"context"
	"errors"
	"testing"

	"parley/internal/chat"
	"parley/internal/turn"
)

// saying is a record that has the text of its turn.
func saying(n int, conversation string) turn.Record {
	r := record(n, conversation)
	r.Said = &turn.Said{Scope: r.Scope, Events: []byte{0, 255, byte(n)}}
	return r
}

func testSaid(t *testing.T, s state) {
	ctx := t.Context()
	for n, ended := range []*chat.Error{nil, {}, {Kind: chat.Conflict, Msg: "Größe \x01"}} {
		r := saying(n, "")
		r.Said.Err = ended
		s.must(s.Save(ctx, r))
		got, err := s.Said(ctx, r.ID)
		s.must(err)
		s.equal("said", *r.Said, got)
	}
	empty := saying(5, "")
	empty.Said.Events = nil
	s.must(s.Save(ctx, empty))
	got, err := s.Said(ctx, empty.ID)
	s.must(err)
	s.equal("said", *empty.Said, got)
	s.must(s.Save(ctx, record(6, "")))
	for _, n := range []int{6, 7} {
		if _, err := s.Said(ctx, id(n)); !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("Said of a turn without: %v, want ErrNotFound", err)
		}
	}
	if err := s.Save(ctx, saying(0, "")); err == nil {
		t.Error("a turn was saved twice")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Said(gone, id(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("Said with a cancelled context: %v", err)
	}
}

func testSaidGoes(t *testing.T, s state) {
	ctx := t.Context()
	stateless, stored := saying(1, ""), saying(2, "c")
	stored.Seen = 0
	s.must(s.Save(ctx, stateless))
	s.must(s.Save(ctx, stored))
	_, err := s.Purge(ctx, stateless.FinishedAt.Add(1e9), 10)
	s.must(err)
	s.must(s.Delete(ctx, alice, "c"))
	for _, r := range []turn.Record{stateless, stored} {
		if _, err := s.Said(ctx, r.ID); !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("Said of a deleted turn: %v, want ErrNotFound", err)
		}
	}
}

func testForgetSaid(t *testing.T, s state) {
	ctx := t.Context()
	for n := range 6 {
		s.must(s.Save(ctx, saying(n, "")))
	}
	before := record(4, "").FinishedAt // 0 to 3 are older
	for _, want := range []int{3, 1, 0} {
		n, err := s.ForgetSaid(ctx, before, 3)
		s.must(err)
		s.equal("forgotten", want, n)
	}
	for n, old := range []bool{true, true, true, true, false, false} {
		if _, err := s.Said(ctx, id(n)); errors.Is(err, turn.ErrNotFound) != old {
			t.Errorf("Said of turn %d: %v", n, err)
		}
		_, err := s.Turn(ctx, alice, id(n))
		s.must(err)
	}
}
