package main

import (
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
)

func TestKnownConversation_IsOneOfTheSameOwnerAndNamespace(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().UTC()
	err = db.State().Save(t.Context(), turn.Record{
		ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Scope: turn.Scope{Namespace: "hr", Owner: "ann"}, ConversationID: "c",
		Status: chat.StatusCompleted, Question: chat.TextMessage(llm.User, "Why?"), StartedAt: now, FinishedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		namespace, subject, id string
		want                   bool
	}{
		{"hr", "ann", "c", true},
		{"hr", "ann", "d", false},
		{"hr", "bob", "c", false},
		{"hr", "", "c", false},
		{"it", "ann", "c", false},
	} {
		s := &serving{instance: &instance{cfg: Config{Namespace: c.namespace}, db: db}}
		got, err := s.knownConversation(t.Context(), access.Principal{Subject: c.subject}, c.id)
		if err != nil || got != c.want {
			t.Errorf("conversation %s of %q in %s: known %v (%v), want %v", c.id, c.subject, c.namespace, got, err, c.want)
		}
	}
}
