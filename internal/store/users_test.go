package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth/session"
	"parley/internal/chat"
	"parley/internal/documents/job"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/shelf"
	"parley/internal/store/pgtest"
	"parley/internal/transcript"
	"parley/internal/turn"
)

// onBoth runs a test on both kinds of databases.
func onBoth(t *testing.T, test func(t *testing.T, db *DB)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		db, err := Open(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		test(t, db)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, replica(t, pgtest.New(t)))
	})
}

// Whoever adds a table says what it holds about users.
func TestUsers_KnowEveryTableThatNamesThem(t *testing.T) {
	nameless := []string{"deletions", "members_version"} // hashes, for a day; a number
	onBoth(t, func(t *testing.T, db *DB) {
		for part, d := range map[string]*database{"corpus": db.corpus.db, "state": db.state.db} {
			tables, err := d.tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range tables {
				named := slices.ContainsFunc(table.columns, func(c string) bool {
					return slices.Contains([]string{"owner", "subject", "account_user", "turn_id", "transcript", "value", "created_by", "member"}, c)
				})
				known := slices.ContainsFunc(aboutUsers, func(p personal) bool { return p.table == table.name && p.corpus == (part == "corpus") })
				if named && !known && !slices.Contains(nameless, table.name) && table.name != counters {
					t.Errorf("%s of the %s may name users: add it to aboutUsers", table.name, part)
				}
			}
		}
	})
}

// everythingOf stores something of each kind for a user.
func everythingOf(t *testing.T, db *DB, who, text string) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	scope := turn.Scope{Namespace: "default", Owner: who}
	record := func(id, conversation string) turn.Record {
		message := chat.Message{ID: id + "q", Role: llm.User, Parts: []llm.Part{{Text: text}}, CreatedAt: now}
		answer := message
		answer.ID, answer.Role = id+"a", llm.Assistant
		return turn.Record{ID: id, Scope: scope, ConversationID: conversation, Question: message, Query: text,
			Answers: []turn.Answer{{Message: answer, Status: chat.StatusCompleted}}, Status: chat.StatusCompleted, StartedAt: now, FinishedAt: now,
			Said:     &turn.Said{Scope: scope, Events: []byte(text)},
			Answered: &turn.Answered{Key: turn.Key{Owner: who, Route: "/chat", Value: id + text}, TurnID: id, Events: []byte(text), At: now}}
	}
	entry := ledger.Entry{ID: "intent-" + text, Scope: scope, TurnID: "t1" + text, Stage: "generate", Provider: "p", Model: "m", CreatedAt: now,
		Account: chat.Account{User: text, Conversation: text}}
	done := entry
	done.ID, done.Status, done.Cost, done.SettledAt = "settled-"+text, ledger.Completed, ledger.Cost{Micros: 7, Known: true}, now
	all := db.State()
	for _, err := range []error{
		all.Save(ctx, record("t1"+text, "c-"+text)), all.Save(ctx, record("t2"+text, "")),
		all.Intend(ctx, entry), all.Intend(ctx, done), all.Settle(ctx, done),
		db.Jobs().Add(ctx, job.Job{ID: "j" + text, Kind: "upload", Namespace: "default", Owner: who, Request: []byte(`{"a":"` + text + `"}`), State: job.Done, CreatedAt: now}),
		db.Sessions().AddSession(ctx, session.Session{ID: "s" + text, Subject: who, Name: text, Claims: []byte("{}"), CreatedAt: now, ExpiresAt: now.Add(time.Hour)}, 10),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.Transcripts().Save(ctx, transcript.Scope{Kind: transcript.Azure, Namespace: "default", Owner: who}, "x"+text, func(c *transcript.Transcript, _ bool) error {
		c.Title, c.Messages = text, []transcript.Message{{ID: "1", Body: json.RawMessage(`"` + text + `"`)}}
		return nil
	})
	for _, kind := range []shelf.Kind{shelf.Files, shelf.Prompts, shelf.Folders} {
		if err == nil {
			_, err = db.Shelf().Save(ctx, shelf.Key{Kind: kind, Owner: who, ID: string(kind) + text}, func(i *shelf.Item, _ bool) error {
				i.Body = json.RawMessage(`{"name":"` + text + `"}`)
				return nil
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dump returns all rows of the state, as text.
func dump(t *testing.T, d *database) map[string]string {
	t.Helper()
	tables, err := d.tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	err = d.view(t.Context(), "dump", func(tx *sql.Tx) error {
		for _, table := range tables {
			_, _, err := table.each(t.Context(), tx, func(row []any) error {
				for _, v := range row {
					if b, ok := v.([]byte); ok {
						v = string(b)
					}
					all[table.name] += fmt.Sprint(v, "|")
				}
				all[table.name] += "\n"
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUsers_ADeletionLeavesNothingButAmounts(t *testing.T) {
	onBoth(t, func(t *testing.T, db *DB) {
		const hostile = `an'n"; DROP TABLE turns; --%_../../etc`
		everythingOf(t, db, hostile, "xylophone")
		everythingOf(t, db, "bob", "marimba")
		kinds := map[string]int{}
		err := db.Users().Records(t.Context(), hostile, func(kind string, record []byte) error {
			if !json.Valid(record) || strings.Contains(string(record), "marimba") {
				t.Errorf("%s: %s", kind, record)
			}
			kinds[kind]++
			return nil
		})
		for kind, want := range map[string]int{"conversation": 1, "turn": 2, "message": 4, "chat": 1, "chat_message": 1, "file_or_store": 1, "prompt": 1, "folder": 1, "job": 1, "usage": 1,
			"usage_unfinished": 1, "session": 1, "idempotency_key": 2} {
			if kinds[kind] != want || err != nil {
				t.Errorf("%d records of the kind %s, %v; want %d", kinds[kind], kind, err, want)
			}
		}
		before, err := db.State().Usage(t.Context(), ledger.UsageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		others := map[string]string{}
		for table, rows := range dump(t, db.state.db) {
			others[table] = linesWith(rows, "marimba")
		}
		deleted, err := db.Users().Delete(t.Context(), hostile, time.Now())
		if err != nil || deleted["conversation"] != 1 || deleted["chat"] != 1 {
			t.Errorf("deleted %v, %v", deleted, err)
		}
		for table, rows := range dump(t, db.state.db) {
			if strings.Contains(rows, hostile) || strings.Contains(rows, "xylophone") && table != "ledger" && table != "intents" {
				t.Errorf("%s still holds %s", table, linesWith(rows, "xylophone"))
			}
			if got := linesWith(rows, "marimba"); got != others[table] {
				t.Errorf("%s of another user: %q, was %q", table, got, others[table])
			}
		}
		if after, err := db.State().Usage(t.Context(), ledger.UsageQuery{}); err != nil || len(after) != 1 || after[0].Micros != before[0].Micros {
			t.Errorf("usage %+v, %v; was %+v", after, err, before)
		}
	})
}

func linesWith(rows, text string) (found string) {
	for line := range strings.Lines(rows) {
		if strings.Contains(line, text) {
			found += line
		}
	}
	return found
}

// A turn, an upload or a chat that is being written while its user is deleted leaves nothing.
func TestUsers_WhatBeganBeforeADeletionIsNotSavedAfter(t *testing.T) {
	onBoth(t, func(t *testing.T, db *DB) {
		ctx := access.WithStart(t.Context(), time.Now())
		var saving sync.WaitGroup
		const rounds = 20
		for i := range rounds {
			saving.Go(func() {
				scope := turn.Scope{Namespace: "default", Owner: "ann"}
				now := time.Now()
				intent := ledger.Entry{ID: fmt.Sprint("i", i), Scope: scope, TurnID: fmt.Sprint("t", i), Stage: "generate", Provider: "p", Model: "m", CreatedAt: now}
				errs := []error{db.State().Intend(ctx, intent)}
				settled := intent
				settled.Status, settled.SettledAt = ledger.Completed, now
				errs = append(errs, db.State().Save(ctx, turn.Record{ID: fmt.Sprint("t", i), Scope: scope, ConversationID: fmt.Sprint("c", i), Status: chat.StatusCompleted,
					StartedAt: now, FinishedAt: now}), db.State().Settle(ctx, settled))
				_, err := db.Transcripts().Save(ctx, transcript.Scope{Kind: transcript.Azure, Owner: "ann"}, fmt.Sprint(i), func(*transcript.Transcript, bool) error { return nil })
				errs = append(errs, err)
				_, err = db.Shelf().Save(ctx, shelf.Key{Kind: shelf.Files, Owner: "ann", ID: fmt.Sprint(i)}, func(*shelf.Item, bool) error { return nil })
				errs = append(errs, err, db.Jobs().Add(ctx, job.Job{ID: fmt.Sprint("j", i), Owner: "ann", Request: []byte("{}")}))
				for _, err := range errs {
					if err != nil && !errors.Is(err, errDeleted) {
						t.Error(err)
					}
				}
			})
			if i == rounds/2 {
				saving.Go(func() {
					if _, err := db.Users().Delete(context.WithoutCancel(ctx), "ann", time.Now()); err != nil {
						t.Error(err)
					}
				})
			}
		}
		saving.Wait()
		for table, rows := range dump(t, db.state.db) {
			if strings.Contains(rows, "ann|") {
				t.Errorf("%s holds %s", table, rows)
			}
		}
		// Whoever comes back begins anew.
		ctx = access.WithStart(t.Context(), time.Now().Add(time.Millisecond))
		if err := db.State().Begin(ctx, turn.Conversation{ID: "new", Scope: turn.Scope{Owner: "ann"}, CreatedAt: time.Now()}); err != nil {
			t.Error(err)
		}
	})
}

func TestExpireConversations_DeletesThoseOfAllKindsThatWereNotUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, db *DB) {
		everythingOf(t, db, "ann", "old")
		cut := time.Now().Add(time.Second)
		for _, kind := range []string{"", "ragchat"} {
			if err := db.State().Begin(t.Context(), turn.Conversation{ID: "new" + kind, Kind: kind, Scope: turn.Scope{Owner: "ann"}, CreatedAt: cut.Add(time.Second)}); err != nil {
				t.Fatal(err)
			}
			if err := db.State().Begin(t.Context(), turn.Conversation{ID: "old" + kind, Kind: kind, Scope: turn.Scope{Owner: "bob"}, CreatedAt: cut.Add(-time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		n, err := db.ExpireConversations(t.Context(), cut)
		all := dump(t, db.state.db)
		if want := 4; n != want || err != nil {
			t.Errorf("%d expired, %v; want %d", n, err, want)
		}
		if strings.Count(all["conversations"], "\n") != 2 || all["transcript_messages"] != "" || strings.Count(all["turns"], "\n") != 1 {
			t.Errorf("left: %q, %q, %q", all["conversations"], all["transcripts"], all["turns"])
		}
	})
}
