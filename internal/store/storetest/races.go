package storetest

import (
	"sync"
	"testing"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// racers is the number of goroutines that write the same rows in a test.
const racers = 12

// race calls do in several goroutines, each with its number, and waits for them.
func race(do func(i int)) {
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func testSettleRace(t *testing.T, s state) {
	const entries = 20
	var e ledger.Entry
	for n := range entries {
		e = entry(n)
		e.ConversationID, e.Account = "", chat.Account{User: "u"}
		s.must(s.Intend(t.Context(), e))
		race(func(i int) {
			end := settled(e, ledger.Completed, llm.Usage{Input: 100, Output: 10}, 7)
			if i%3 == 0 {
				end.Status, end.Usage, end.Cost = ledger.Interrupted, llm.Usage{Input: 40}, ledger.Cost{}
			}
			if err := s.Settle(t.Context(), end); err != nil {
				t.Errorf("Settle: %v", err)
			}
		})
	}
	got, err := s.Totals(t.Context(), e.AccountKey())
	s.must(err)
	s.equal("totals", ledger.Totals{InputTokens: 100 * entries, OutputTokens: 10 * entries, Micros: 7 * entries}, got)
	open, err := s.Unsettled(t.Context(), 10)
	s.must(err)
	s.equal("unsettled", []ledger.Entry(nil), open)
}

// While turns are saved, the conversation is reset. Afterwards its number of completed turns is that
// of its history.
func testResetRace(t *testing.T, s state) {
	s.must(s.Save(t.Context(), record(0, "c")))
	race(func(i int) {
		if i%4 == 0 {
			if err := s.Reset(t.Context(), alice, "c", started); err != nil {
				t.Errorf("Reset: %v", err)
			}
			return
		}
		r := record(i, "c")
		for range 20 {
			c, err := s.Conversation(t.Context(), alice, "c", 0)
			if err != nil {
				t.Errorf("Conversation: %v", err)
				return
			}
			if r.Seen = c.Completed; s.Save(t.Context(), r) == nil {
				return
			}
		}
	})
	c, err := s.Conversation(t.Context(), alice, "c", 1000)
	s.must(err)
	asked := 0
	for _, m := range c.History {
		if m.Role == llm.User {
			asked++
		}
	}
	s.equal("completed turns", int64(asked), c.Completed)
}

// odd are texts that documents and clients do send.
var odd = []string{"nul \x00 inside", "not UTF-8: \xff\xfe", "a noncharacter: \uFDD0", "%_\\'\"?$1", "\u202e\u0000"}

func testOddText(t *testing.T, s state) {
	for i, text := range odd {
		r := record(i+1, "")
		r.Query, r.Seen = text, 0
		s.must(s.Save(t.Context(), r))
		got, err := s.Turn(t.Context(), alice, r.ID)
		s.must(err)
		s.equal("turn", r, got)
	}
	for i, text := range odd {
		r := record(100+i, text) // ids of conversations are their clients'
		s.must(s.Save(t.Context(), r))
		c, err := s.Conversation(t.Context(), alice, text, 1)
		s.must(err)
		s.equal("completed turns of "+text, int64(1), c.Completed)
	}
}

func testOddPages(t *testing.T, c corpus) {
	want := c.put(id(1), "odd.txt")
	want.Document.Title, want.Document.Notes = odd[0], odd[1]
	for i, text := range odd {
		want.Pages = append(want.Pages, retrieval.Page{Number: 10 + i, Text: text})
	}
	want.Chunks[0].Text, want.Chunks[0].Headings = odd[0]+odd[1]+odd[2], odd
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{want}})
	pages, err := c.Pages(t.Context(), want.Document.Revision)
	c.must(err)
	c.equal("pages", want.Pages, pages)
	chunks, err := c.RevisionChunks(t.Context(), want.Document.Revision)
	c.must(err)
	c.equal("chunks", want.Chunks, chunks)
}
