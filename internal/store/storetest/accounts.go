package storetest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
)

// accountEntry is an entry of an account, without a conversation.
func accountEntry(n int, a chat.Account) ledger.Entry {
	e := entry(n)
	e.ConversationID, e.Account = "", a
	return e
}

// settled returns a settled copy of an entry.
func settled(e ledger.Entry, status ledger.Status, u llm.Usage, micros int64) ledger.Entry {
	e.Status, e.Usage, e.Cost = status, u, ledger.Cost{Micros: micros, Known: micros >= 0}
	if micros < 0 {
		e.Cost.Micros = 0
	}
	e.SettledAt = started.Add(time.Hour)
	return e
}

func testTotals(t *testing.T, s state) {
	ctx := t.Context()
	key := ledger.AccountKey{Owner: "alice", User: "u", Conversation: "c"}
	a := chat.Account{User: "u", Conversation: "c"}
	first, second, search := accountEntry(1, a), accountEntry(2, a), accountEntry(3, a)
	search.Stage = chat.StageRetrieve
	for _, e := range []ledger.Entry{first, second, search} {
		s.must(s.Intend(ctx, e))
	}
	total := func(what string, want ledger.Totals) {
		t.Helper()
		got, err := s.Totals(ctx, key)
		s.must(err)
		s.equal(what, want, got)
	}
	total("intents", ledger.Totals{})

	first = settled(first, ledger.Completed, llm.Usage{Input: 40, Output: 9, Cached: 3}, 77)
	for range 2 { // the second time it is already settled
		s.must(s.Settle(ctx, first))
	}
	want := ledger.Totals{InputTokens: 40, OutputTokens: 9, Micros: 77}
	total("a settled entry", want)

	s.must(s.Settle(ctx, settled(search, ledger.Completed, llm.Usage{Input: 5}, -1)))
	want.EmbeddingTokens, want.Unpriced = 5, 1
	total("an embedding without a price", want)

	lost := settled(second, ledger.Interrupted, llm.Usage{Input: 30, Estimated: true}, 3)
	for range 2 {
		s.must(s.Settle(ctx, lost))
	}
	s.must(s.Settle(ctx, settled(second, ledger.Cancelled, llm.Usage{Input: 31, Output: 2}, 4)))
	want.InputTokens, want.OutputTokens, want.Micros = 71, 11, 81
	total("an interrupted entry that ended after all", want)

	r := record(4, "")
	r.Account = a
	r.Free = []ledger.Entry{settled(accountEntry(5, a), ledger.Completed, llm.Usage{Input: 7, Output: 1, Estimated: true}, 0)}
	s.must(s.Save(ctx, r))
	want.Turns, want.InputTokens, want.OutputTokens, want.Estimated = 1, 78, 12, 1
	total("a completed turn with a call that was free", want)

	paid := accountEntry(7, a)
	s.must(s.Intend(ctx, paid))
	paid = settled(paid, ledger.Completed, llm.Usage{Input: 2, Output: 1}, 5)
	r = record(8, "")
	r.Account, r.Ended = a, []ledger.Entry{paid, lost} // the other one has already ended
	s.must(s.Save(ctx, r))
	s.must(s.Settle(ctx, paid))
	want.Turns, want.InputTokens, want.OutputTokens, want.Micros = 2, 80, 13, 86
	total("a turn with the end of a call", want)

	failed := record(6, "")
	failed.Account, failed.Status = a, chat.StatusFailed
	s.must(s.Save(ctx, failed))
	total("a failed turn", want)

	had, err := s.ClearTotals(ctx, key)
	s.must(err)
	again, err := s.ClearTotals(ctx, key)
	s.must(err)
	if !had || again {
		t.Errorf("ClearTotals said %v and then %v, want true and false", had, again)
	}
	total("cleared", ledger.Totals{})
	entries, err := s.Entries(ctx, "t")
	s.must(err)
	s.equal("entries after the totals were cleared", 5, len(entries))
}

// The names are chosen so that joining the parts of a key in any way would make two keys equal.
func testAccountsApart(t *testing.T, s state) {
	ctx := t.Context()
	keys := []ledger.AccountKey{
		{Owner: "alice", User: "a:b", Conversation: "c"},
		{Owner: "alice", User: "a", Conversation: "b:c"},
		{Owner: "alice", User: "a:b:c"},
		{Owner: "alice", Conversation: "a:b:c"},
		{Owner: "alice", Stored: true, Conversation: "a:b:c"},
		{Owner: "alice", Conversation: "c"},
		{Owner: "bob", User: "a:b", Conversation: "c"},
		{User: "a:b", Conversation: "c"},
		{Owner: "alice:a", User: "b", Conversation: "c"},
	}
	for i, k := range keys {
		e := accountEntry(i, chat.Account{User: k.User, Conversation: k.Conversation})
		e.Scope.Owner = k.Owner
		if k.Stored {
			e.ConversationID, e.Account = k.Conversation, chat.Account{User: "whoever"}
		}
		s.equal("key of the entry", k, e.AccountKey())
		s.must(s.Intend(ctx, e))
		s.must(s.Settle(ctx, settled(e, ledger.Completed, llm.Usage{Input: 1 << i}, 1)))
	}
	for i, k := range keys {
		got, err := s.Totals(ctx, k)
		s.must(err)
		s.equal("totals", ledger.Totals{InputTokens: 1 << i, Micros: 1}, got)
	}
	none := accountEntry(20, chat.Account{})
	s.must(s.Intend(ctx, none))
	s.must(s.Settle(ctx, settled(none, ledger.Completed, llm.Usage{Input: 1}, 1)))
	got, err := s.Totals(ctx, none.AccountKey())
	s.must(err)
	s.equal("totals of no account", ledger.Totals{}, got)
}

// In whatever order entries are settled, totals are the sum of the ledger.
func testTotalsAreTheSum(t *testing.T, s state) {
	ctx := t.Context()
	random := rand.New(rand.NewPCG(1, 2))
	a := chat.Account{User: "u", Conversation: "c"}
	statuses := []ledger.Status{ledger.Completed, ledger.Failed, ledger.Cancelled, ledger.Interrupted}
	var open []ledger.Entry
	for n := range 200 {
		e := accountEntry(n, a)
		if n%3 == 0 {
			e.Stage = chat.StageRetrieve
		}
		s.must(s.Intend(ctx, e))
		open = append(open, e)
		for range random.IntN(3) {
			e := open[random.IntN(len(open))]
			u := llm.Usage{Input: random.IntN(1000), Output: random.IntN(100), Estimated: random.IntN(2) == 0}
			s.must(s.Settle(ctx, settled(e, statuses[random.IntN(4)], u, int64(random.IntN(50)-5))))
		}
	}
	var want ledger.Totals
	rows, err := s.Usage(ctx, ledger.UsageQuery{By: []ledger.Dimension{ledger.ByStage}})
	s.must(err)
	for _, r := range rows {
		if r.Stage == chat.StageRetrieve {
			want.EmbeddingTokens, want.EmbeddingMicros = r.Input+r.Output, r.Micros
		} else {
			want.InputTokens, want.OutputTokens, want.Micros = r.Input, r.Output, r.Micros
		}
		want.Unpriced += r.Unpriced
		want.Estimated += r.Estimated
	}
	got, err := s.Totals(ctx, ledger.AccountKey{Owner: "alice", User: "u", Conversation: "c"})
	s.must(err)
	s.equal("totals", want, got)
	if len(rows) != 2 || want.Unpriced == 0 || want.Estimated == 0 {
		t.Errorf("the entries are not varied enough: %+v", rows)
	}
}

func testUsage(t *testing.T, s state) {
	ctx := t.Context()
	entries := []ledger.Entry{accountEntry(1, chat.Account{User: "u", Conversation: "c"}), accountEntry(2, chat.Account{User: "u"}),
		entry(3), entry(4)}
	entries[1].Scope.Namespace, entries[1].TurnID, entries[1].Stage = "other", "t2", chat.StageRewrite
	entries[2].Scope.Owner, entries[2].Model = "bob", "small"
	entries[3].CreatedAt = started.Add(24 * time.Hour)
	entries[3].ID = entryID(entries[3].CreatedAt, 4)
	for i, e := range entries {
		s.must(s.Intend(ctx, e))
		micros := int64(100 * (i + 1))
		if i == 1 {
			micros = -1
		}
		s.must(s.Settle(ctx, settled(e, ledger.Completed, llm.Usage{Input: i + 1, Output: 1, Cached: 1, Reasoning: 1, Estimated: i == 3}, micros)))
	}
	s.must(s.Intend(ctx, entry(9))) // unsettled entries count nowhere
	usage := func(q ledger.UsageQuery, want ...ledger.UsageRow) {
		t.Helper()
		got, err := s.Usage(ctx, q)
		s.must(err)
		s.equal("usage", want, got)
	}
	sum := func(turns int64, calls ...int) ledger.UsageRow {
		r := ledger.UsageRow{Turns: turns}
		for _, i := range calls {
			r.Calls++
			r.Input += int64(i + 1)
			r.Output++
			r.Cached++
			r.Reasoning++
			if i == 1 {
				r.Unpriced++
			} else {
				r.Micros += int64(100 * (i + 1))
			}
			if i == 3 {
				r.Estimated++
			}
		}
		return r
	}
	with := func(r ledger.UsageRow, set func(*ledger.UsageRow)) ledger.UsageRow {
		set(&r)
		return r
	}
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	usage(ledger.UsageQuery{}, sum(2, 0, 1, 2, 3))
	usage(ledger.UsageQuery{By: []ledger.Dimension{ledger.ByDay}},
		with(sum(2, 0, 1, 2), func(r *ledger.UsageRow) { r.Day = day }),
		with(sum(1, 3), func(r *ledger.UsageRow) { r.Day = day.AddDate(0, 0, 1) }))
	usage(ledger.UsageQuery{By: []ledger.Dimension{ledger.ByNamespace}},
		with(sum(1, 0, 2, 3), func(r *ledger.UsageRow) { r.Namespace = "ns" }),
		with(sum(1, 1), func(r *ledger.UsageRow) { r.Namespace = "other" }))
	usage(ledger.UsageQuery{By: []ledger.Dimension{ledger.ByUser, ledger.ByStage}},
		with(sum(1, 3), func(r *ledger.UsageRow) { r.Owner, r.Stage = "alice", chat.StageGenerate }),
		with(sum(1, 0), func(r *ledger.UsageRow) { r.Owner, r.User, r.Stage = "alice", "u", chat.StageGenerate }),
		with(sum(1, 1), func(r *ledger.UsageRow) { r.Owner, r.User, r.Stage = "alice", "u", chat.StageRewrite }),
		with(sum(1, 2), func(r *ledger.UsageRow) { r.Owner, r.Stage = "bob", chat.StageGenerate }))
	usage(ledger.UsageQuery{By: []ledger.Dimension{ledger.ByConversation}},
		with(sum(1, 1), func(*ledger.UsageRow) {}),
		with(sum(1, 0), func(r *ledger.UsageRow) { r.Conversation = "c" }),
		with(sum(1, 2, 3), func(r *ledger.UsageRow) { r.Conversation, r.Stored = "c", true }))
	usage(ledger.UsageQuery{By: []ledger.Dimension{ledger.ByModel, ledger.ByTurn}, Limit: 2},
		with(sum(1, 0, 3), func(r *ledger.UsageRow) { r.Provider, r.Model, r.Turn = "openai", "large", "t" }),
		with(sum(1, 1), func(r *ledger.UsageRow) { r.Provider, r.Model, r.Turn = "openai", "large", "t2" }))
	usage(ledger.UsageQuery{By: []ledger.Dimension{ledger.ByModel, ledger.ByTurn}, Limit: 1, Offset: 1},
		with(sum(1, 1), func(r *ledger.UsageRow) { r.Provider, r.Model, r.Turn = "openai", "large", "t2" }))
	bob := "bob"
	usage(ledger.UsageQuery{Owner: &bob}, sum(1, 2))
	usage(ledger.UsageQuery{From: started.Add(2 * time.Second), To: started.Add(time.Hour)}, sum(2, 1, 2))
	usage(ledger.UsageQuery{From: started.Add(48 * time.Hour)})

	outside := entry(5) // of a job, such as the vectors of documents
	outside.TurnID, outside.Scope.Owner = "", "bob"
	s.must(s.Intend(ctx, outside))
	s.must(s.Settle(ctx, settled(outside, ledger.Completed, llm.Usage{Input: 5, Output: 1, Cached: 1, Reasoning: 1}, 500)))
	usage(ledger.UsageQuery{Owner: &bob}, sum(1, 2, 4))
}

func testKinds(t *testing.T, s state) {
	ctx := t.Context()
	made := turn.Conversation{ID: "s", Scope: alice, Kind: "ragchat", CreatedAt: started}
	s.must(s.Begin(ctx, made))
	if err := s.Begin(ctx, made); err == nil {
		t.Error("the same conversation was begun twice")
	}
	made.UpdatedAt = started
	got, err := s.Conversation(ctx, alice, "s", 10)
	s.must(err)
	s.equal("conversation that was begun", made, got)

	if err := s.Save(ctx, record(1, "s")); !errors.Is(err, turn.ErrForeign) {
		t.Errorf("Save to a conversation of another kind: %v, want ErrForeign", err)
	}
	r := record(1, "s")
	r.Kind = "ragchat"
	s.must(s.Save(ctx, r))
	gone := record(2, "gone")
	gone.Kind = "ragchat"
	if err := s.Save(ctx, gone); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Save to a conversation that is gone: %v, want ErrNotFound", err)
	}
	// A conversation's namespace need not be the one that is searched.
	far := record(3, "s")
	far.Kind, far.Seen, far.Scope.Namespace = "ragchat", 1, "other"
	if err := s.Save(ctx, far); !errors.Is(err, turn.ErrForeign) {
		t.Errorf("Save from another namespace: %v, want ErrForeign", err)
	}
	far.Home = "ns"
	s.must(s.Save(ctx, far))
	got, err = s.Conversation(ctx, alice, "s", 10)
	s.must(err)
	s.equal("completed turns", int64(2), got.Completed)
}

func testListConversations(t *testing.T, s state) {
	ctx := t.Context()
	ids := []string{"a", "b", "c", "d"}
	for i, id := range ids {
		at := started.Add(time.Duration(min(i, 2)) * time.Hour) // c and d have the same time
		s.must(s.Begin(ctx, turn.Conversation{ID: id, Scope: alice, Kind: "k", CreatedAt: at}))
	}
	s.must(s.Begin(ctx, turn.Conversation{ID: "kind", Scope: alice, Kind: "other", CreatedAt: started}))
	for i, stranger := range strangers {
		s.must(s.Begin(ctx, turn.Conversation{ID: id(i), Scope: stranger, Kind: "k", CreatedAt: started}))
	}
	var listed []string
	after := turn.Position{}
	for range 5 {
		page, err := s.Conversations(ctx, alice, "k", after, 1)
		s.must(err)
		for _, c := range page {
			listed = append(listed, c.ID)
			after = turn.Position{UpdatedAt: c.UpdatedAt, ID: c.ID}
			if c.Scope != alice || c.Kind != "k" || c.CreatedAt.IsZero() || c.History != nil {
				t.Errorf("listed %+v", c)
			}
		}
	}
	s.equal("pages of one", []string{"d", "c", "b", "a"}, listed)
	all, err := s.Conversations(ctx, alice, "k", turn.Position{}, 10)
	s.must(err)
	s.equal("one page", 4, len(all))
}

func testResetAndDelete(t *testing.T, s state) {
	ctx := t.Context()
	save := func(n int, seen int64) turn.Record {
		r := record(n, "s")
		r.Kind, r.Seen = "k", seen
		r.Free = []ledger.Entry{settled(entry(n), ledger.Completed, llm.Usage{Input: 1}, 0)}
		r.Free[0].ConversationID = "s"
		s.must(s.Save(ctx, r))
		return r
	}
	key := ledger.AccountKey{Owner: "alice", Stored: true, Conversation: "s"}
	s.must(s.Begin(ctx, turn.Conversation{ID: "s", Scope: alice, Kind: "k", CreatedAt: started}))
	first := save(1, 0)
	for _, stranger := range strangers {
		if err := s.Reset(ctx, stranger, "s", started); !errors.Is(err, turn.ErrForeign) {
			t.Errorf("Reset by %+v: %v, want ErrForeign", stranger, err)
		}
		if err := s.Delete(ctx, stranger, "s"); !errors.Is(err, turn.ErrForeign) {
			t.Errorf("Delete by %+v: %v, want ErrForeign", stranger, err)
		}
	}
	at := started.Add(3 * time.Hour)
	s.must(s.Reset(ctx, alice, "s", at))
	got, err := s.Conversation(ctx, alice, "s", 10)
	s.must(err)
	s.equal("reset", turn.Conversation{ID: "s", Scope: alice, Kind: "k", CreatedAt: started, UpdatedAt: at}, got)
	totals, err := s.Totals(ctx, key)
	s.must(err)
	s.equal("totals after the reset", ledger.Totals{}, totals)
	if _, err := s.Turn(ctx, alice, first.ID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Turn after the reset: %v, want ErrNotFound", err)
	}
	late := record(2, "s") // it read the conversation before the reset
	late.Kind, late.Seen = "k", 1
	if err := s.Save(ctx, late); !errors.Is(err, turn.ErrConflict) {
		t.Errorf("Save of a turn that began before the reset: %v, want ErrConflict", err)
	}
	save(3, 0)

	s.must(s.Delete(ctx, alice, "s"))
	for name, err := range map[string]error{
		"Delete": s.Delete(ctx, alice, "s"), "Reset": s.Reset(ctx, alice, "s", at),
	} {
		if !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("%s of a conversation that is gone: %v, want ErrNotFound", name, err)
		}
	}
	totals, err = s.Totals(ctx, key)
	s.must(err)
	s.equal("totals of a conversation that is gone", ledger.Totals{}, totals)
	rows, err := s.Usage(ctx, ledger.UsageQuery{})
	s.must(err)
	s.equal("calls in the ledger", int64(2), rows[0].Calls)
}

func testExpire(t *testing.T, s state) {
	ctx := t.Context()
	for n, kind := range []string{"k", "k", "k", "other"} {
		s.must(s.Begin(ctx, turn.Conversation{ID: id(n), Scope: alice, Kind: kind, CreatedAt: started.Add(time.Duration(n) * time.Minute)}))
	}
	kept := record(30, id(0)) // its last turn makes the oldest conversation the latest
	kept.Kind = "k"
	s.must(s.Save(ctx, kept))
	before := started.Add(10 * time.Minute)
	for _, want := range []int{1, 1, 0} {
		n, err := s.Expire(ctx, "k", before, 1)
		s.must(err)
		s.equal("conversations expired", want, n)
	}
	left, err := s.Conversations(ctx, alice, "k", turn.Position{}, 10)
	s.must(err)
	if len(left) != 1 || left[0].ID != id(0) {
		t.Errorf("left are %+v", left)
	}
	_, err = s.Conversation(ctx, alice, id(3), 1)
	s.must(err)
}

func testKeys(t *testing.T, s state) {
	ctx := t.Context()
	answered := func(n int, k turn.Key) *turn.Answered {
		return &turn.Answered{Key: k, Body: [32]byte{byte(n)}, TurnID: id(n), Events: []byte{1, 2, byte(n)},
			At: started.Add(time.Duration(n) * time.Hour)}
	}
	keys := []turn.Key{{Owner: "a", Route: "/chat", Value: "k"}, {Owner: "a", Route: "/chat/k", Value: ""}, {Owner: "", Route: "/chat", Value: "k"}}
	for n, k := range keys {
		if _, err := s.Answered(ctx, k); !errors.Is(err, turn.ErrNotFound) {
			t.Errorf("Answered of a new key: %v, want ErrNotFound", err)
		}
		r := record(n, "")
		r.Answered = answered(n, k)
		s.must(s.Save(ctx, r))
		got, err := s.Answered(ctx, k)
		s.must(err)
		s.equal("answered", *r.Answered, got)
	}
	again := record(10, "")
	again.Answered = answered(10, keys[0])
	if err := s.Save(ctx, again); !errors.Is(err, turn.ErrConflict) {
		t.Errorf("Save with a key that was answered: %v, want ErrConflict", err)
	}
	if _, err := s.Turn(ctx, alice, again.ID); !errors.Is(err, turn.ErrNotFound) {
		t.Errorf("Turn after a refused Save: %v, want ErrNotFound", err)
	}
	later := record(40, "")
	later.Answered = answered(40, keys[0]) // the key is forgotten by then
	s.must(s.Save(ctx, later))
	n, err := s.Forget(ctx, started.Add(30*time.Hour), 10)
	s.must(err)
	s.equal("keys forgotten", 2, n)
	found := slices.DeleteFunc(keys, func(k turn.Key) bool { _, err := s.Answered(ctx, k); return err != nil })
	s.equal("keys left", 1, len(found))
}
