package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/llm"
	"parley/internal/transcript"
	"parley/internal/turn"
)

// quotaKeeper stores chats and turns of anonymous callers, a second apart.
type quotaKeeper struct {
	*testing.T
	db *DB
	at time.Time
}

func newQuotaKeeper(t *testing.T) *quotaKeeper {
	db, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &quotaKeeper{t, db, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
}

func (k *quotaKeeper) now() time.Time {
	k.at = k.at.Add(time.Second)
	return k.at
}

// chat stores a chat, or marks it as used again.
func (k *quotaKeeper) chat(owner, origin, id string, bytes int) {
	k.Helper()
	scope := transcript.Scope{Kind: transcript.ChatUI, Namespace: "default", Owner: owner}
	body := json.RawMessage(`"` + strings.Repeat("a", bytes) + `"`)
	_, err := k.db.Transcripts().Save(access.WithOrigin(k.Context(), origin), scope, id, func(t *transcript.Transcript, _ bool) error {
		t.UpdatedAt = k.now()
		t.Messages = []transcript.Message{{Body: body}}
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
}

// say stores a turn, in a conversation if it names one.
func (k *quotaKeeper) say(owner, origin, conversation, text string) {
	k.Helper()
	at := k.now()
	question := chat.TextMessage(llm.User, text)
	question.CreatedAt = at
	err := k.db.State().Save(access.WithOrigin(k.Context(), origin), turn.Record{
		ID: ident.At(at), Scope: turn.Scope{Namespace: "default", Owner: owner}, ConversationID: conversation,
		Status: chat.StatusFailed, Question: question, StartedAt: at, FinishedAt: at,
		Account: chat.Account{User: "user " + text},
	})
	if err != nil {
		k.Fatal(err)
	}
}

func (k *quotaKeeper) makeRoom(q Quota) map[string]int {
	k.Helper()
	all, err := k.db.MakeRoom(k.Context(), q)
	if err != nil {
		k.Fatal(err)
	}
	evicted := map[string]int{}
	for _, e := range all {
		evicted[e.Kind] = e.N
	}
	return evicted
}

// left returns the ids in a table.
func (k *quotaKeeper) left(table string) string {
	k.Helper()
	ids, err := column[string](k.db.state.db.read.QueryContext(k.Context(), "SELECT id FROM "+table+" ORDER BY updated_at"))
	if err != nil {
		k.Fatal(err)
	}
	return strings.Join(ids, " ")
}

func TestMakeRoom_DeletesWhatWasNotUsedForLongest(t *testing.T) {
	k := newQuotaKeeper(t)
	for i := range 6 {
		k.chat("", "", fmt.Sprint("c", i), 10)
		k.say("", "", fmt.Sprint("s", i), "hello")
	}
	k.chat("", "", "c0", 20) // used again
	k.say("", "", "s0", "again")
	if got := k.makeRoom(Quota{Room: Room{Chats: 6}}); len(got) > 0 {
		t.Errorf("within the quota %v were deleted", got)
	}
	if diff := cmp.Diff(map[string]int{"chats": 2, "conversations": 2}, k.makeRoom(Quota{Room: Room{Chats: 4}})); diff != "" {
		t.Error(diff)
	}
	if chats, sessions := k.left("transcripts"), k.left("conversations"); chats != "c3 c4 c5 c0" || sessions != "s3 s4 s5 s0" {
		t.Errorf("left are the chats %s and the conversations %s", chats, sessions)
	}
}

func TestMakeRoom_TakesFromTheOriginThatStoresMost(t *testing.T) {
	k := newQuotaKeeper(t)
	k.chat("", "home", "old", 10)
	k.say("", "home", "older", "hello")
	for i := range 300 { // more than one batch
		k.chat("", "flood", fmt.Sprint("f", i), 10)
		k.say("", "flood", fmt.Sprint("g", i), "hello")
	}
	k.makeRoom(Quota{Room: Room{Chats: 3}})
	if chats, sessions := k.left("transcripts"), k.left("conversations"); chats != "old f298 f299" || sessions != "older g298 g299" {
		t.Errorf("left are the chats %s and the conversations %s", chats, sessions)
	}
}

// An origin over its own quota loses its oldest chats, even if the total is below its limit.
func TestMakeRoom_BoundsEachOrigin(t *testing.T) {
	for name, q := range map[string]Quota{
		"number": {Room: Room{Chats: 1000, Bytes: 1 << 30}, Origin: Room{Chats: 4}},
		"bytes":  {Room: Room{Chats: 1000, Bytes: 1 << 30}, Origin: Room{Bytes: 4 * 1700}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newQuotaKeeper(t)
			text := strings.Repeat("a", 1000)
			for i := range 150 { // more than one batch
				k.chat("", "flood", fmt.Sprint("f", i), len(text))
				k.say("", "flood", fmt.Sprint("g", i), text)
				k.chat("alice", "flood", fmt.Sprint("a", i), len(text)) // a signed-in user
			}
			for i := range 3 {
				k.chat("", "home", fmt.Sprint("h", i), len(text))
				k.say("", "home", fmt.Sprint("s", i), text)
			}
			k.chat("", "flood", "f0", len(text)) // used again
			if diff := cmp.Diff(map[string]int{"chats": 146, "conversations": 146}, k.makeRoom(q)); diff != "" {
				t.Error(diff)
			}
			chats := strings.Join(strings.Fields(regexp.MustCompile(`a\d+ ?`).ReplaceAllString(k.left("transcripts"), "")), " ")
			if chats != "f147 f148 f149 h0 h1 h2 f0" {
				t.Errorf("left are the chats %s", chats)
			}
			if sessions := k.left("conversations"); sessions != "g146 g147 g148 g149 s0 s1 s2" {
				t.Errorf("left are the conversations %s", sessions)
			}
			if got := k.makeRoom(q); len(got) > 0 {
				t.Errorf("%v were deleted within the quotas", got)
			}
		})
	}
}

func TestMakeRoom_CountsBytes(t *testing.T) {
	k := newQuotaKeeper(t)
	k.chat("", "many", "a", 10)
	k.chat("", "many", "b", 10)
	k.chat("", "large", "c", 100_000)
	k.say("", "many", "s", "hello")
	k.say("", "large", "t", strings.Repeat("a", 100_000))
	k.say("", "", "", strings.Repeat("a", 100_000))
	got := k.makeRoom(Quota{Room: Room{Bytes: 50_000}})
	if diff := cmp.Diff(map[string]int{"chats": 1, "conversations": 1, "turns": 1}, got); diff != "" {
		t.Error(diff)
	}
	if chats, sessions := k.left("transcripts"), k.left("conversations"); chats != "a b" || sessions != "s" {
		t.Errorf("left are the chats %s and the conversations %s", chats, sessions)
	}
	if k.db.Grown() < 300_000 {
		t.Errorf("the database grew by %d bytes only", k.db.Grown())
	}
}

func TestMakeRoom_LeavesWhatSignedInUsersStore(t *testing.T) {
	k := newQuotaKeeper(t)
	for i := range 5 {
		k.chat("alice", "home", fmt.Sprint("c", i), 10)
		k.say("alice", "home", fmt.Sprint("s", i), "hello")
		k.say("alice", "home", "", "hello")
	}
	if got := k.makeRoom(Quota{Room: Room{Chats: 1, Bytes: 1}}); len(got) > 0 {
		t.Errorf("%v of a signed-in user were deleted", got)
	}
}

// Turns without a conversation have quotas too, so that one origin cannot evict the turns that
// others return to.
func TestMakeRoom_BoundsTurnsWithoutAConversation(t *testing.T) {
	for name, c := range map[string]struct {
		quota Quota
		left  []string // origins of the turns, oldest first
	}{
		"of everybody": {Quota{Room: Room{Chats: 2}}, slices.Concat(slices.Repeat([]string{"home"}, 3), slices.Repeat([]string{"flood"}, 17))},
		"of an origin": {Quota{Room: Room{Chats: 100}, Origin: Room{Chats: 1}}, slices.Concat(slices.Repeat([]string{"home"}, 3), slices.Repeat([]string{"flood"}, 10))},
		"in bytes": {Quota{Room: Room{Chats: 100}, Origin: Room{Bytes: 5*leastRow + 50}},
			slices.Concat(slices.Repeat([]string{"home"}, 3), slices.Repeat([]string{"flood"}, 5))},
	} {
		t.Run(name, func(t *testing.T) {
			k := newQuotaKeeper(t)
			for i := range 3 {
				k.say("", "home", "", fmt.Sprint(i))
			}
			for i := range 25 {
				k.say("", "flood", "", fmt.Sprint(i))
			}
			k.say("", "flood", "a conversation", "not counted here")
			k.makeRoom(c.quota)
			left, err := column[string](k.db.state.db.read.QueryContext(t.Context(), "SELECT origin FROM turns WHERE conversation_id IS NULL ORDER BY finished_at"))
			if diff := cmp.Diff(c.left, left); diff != "" || err != nil {
				t.Errorf("%v, left (-want +got): %s", err, diff)
			}
		})
	}
}

func TestEvictOldest_BoundsNamesThatClientsMakeUp(t *testing.T) {
	k := newQuotaKeeper(t)
	db := k.db.state.db
	err := db.update(t.Context(), "fill", func(tx *sql.Tx) error {
		for i := range 30 {
			if _, err := tx.Exec(`INSERT INTO accounts (owner, stored, account_user, conversation, turns, embedding_tokens, embedding_micros,
				input_tokens, output_tokens, micros, unpriced, estimated, used_at) VALUES ('', 0, ?, '', 1, 0, 0, 0, 0, 0, 0, 0, ?)`, fmt.Sprint("u", i), i); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO idempotency (owner, route, value, body, turn_id, events, created_at)
				VALUES ('', '/chat', ?, '', '', '', ?)`, fmt.Sprint("k", i), i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for query, table := range map[string]string{oldestAccounts: "accounts", oldestKeys: "idempotency"} {
		n, err := db.evictOldest(t.Context(), query, table, 10)
		if err != nil || n != 20 {
			t.Errorf("%s: %d rows were deleted, %v", table, n, err)
		}
	}
	left, err := column[string](db.read.QueryContext(t.Context(), "SELECT account_user FROM accounts UNION SELECT value FROM idempotency ORDER BY 1 LIMIT 1"))
	if err != nil || left[0] != "k20" {
		t.Errorf("the oldest left is %v, %v", left, err)
	}
}
