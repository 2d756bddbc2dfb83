package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/transcript"
	"parley/internal/turn"
)

// fill adds documents of one page to the namespace ns. Every hundredth is restricted.
func fill(b *testing.B, c *store.Corpus, documents, chunks int) (keys []retrieval.ChunkKey) {
	b.Helper()
	text := strings.Repeat("A chunk has about a thousand bytes of text. ", 23)
	const batch = 1000
	for from := 0; from < documents; from += batch {
		n := min(batch, documents-from)
		rev, err := c.NextRevisions(b.Context(), n)
		if err != nil {
			b.Fatal(err)
		}
		var puts []retrieval.Put
		for i := range n {
			p := retrieval.Put{Document: retrieval.Document{ID: fmt.Sprintf("01JDOCUMENT%015d", from+i), Revision: rev + int64(i),
				Name: fmt.Sprintf("folder/document-%d.pdf", from+i), Title: "Title", Size: 1000},
				Pages: []retrieval.Page{{Number: 1, Text: "page"}}}
			if i%100 == 0 {
				p.Document.Access = access.List{Groups: []string{"staff"}}
			}
			for ordinal := range chunks {
				key := retrieval.ChunkKey{Revision: p.Document.Revision, Ordinal: ordinal}
				keys = append(keys, key)
				p.Chunks = append(p.Chunks, retrieval.Chunk{Key: key, Text: text, Tokens: 230, Headings: []string{"Chapter", "Section"},
					Spans: []retrieval.Span{{Page: 1, Start: ordinal * 900, End: ordinal*900 + len(text)}}})
			}
			puts = append(puts, p)
		}
		if _, err := c.Apply(b.Context(), retrieval.Batch{Namespace: "ns", Put: puts}); err != nil {
			b.Fatal(err)
		}
	}
	return keys
}

// BenchmarkApply inserts 1,000 documents of 10 chunks of a kilobyte in one batch.
func BenchmarkApply(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		db := open(b)
		b.StartTimer()
		fill(b, db.Corpus(), 1000, 10)
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "chunks/s")
}

// BenchmarkOpen opens a folder with 15,000 chunks, and an empty one that exists.
func BenchmarkOpen(b *testing.B) {
	for _, documents := range []int{0, 1500} {
		b.Run(fmt.Sprintf("chunks=%d", documents*10), func(b *testing.B) {
			dir := b.TempDir()
			db, err := store.Open(b.Context(), dir, nil)
			if err != nil {
				b.Fatal(err)
			}
			fill(b, db.Corpus(), documents, 10)
			db.Close()
			for b.Loop() {
				db, err := store.Open(b.Context(), dir, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := db.Corpus().Snapshot(b.Context(), "ns"); err != nil {
					b.Fatal(err)
				}
				db.Close()
			}
		})
	}
}

// BenchmarkCreate makes a new data folder.
func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		db, err := store.Open(b.Context(), b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

// BenchmarkSnapshot reads the rights to 100,000 documents.
func BenchmarkSnapshot(b *testing.B) {
	c := open(b).Corpus()
	fill(b, c, 100_000, 0)
	for b.Loop() {
		if s, err := c.Snapshot(b.Context(), "ns"); err != nil || len(s.Current) != 100_000 {
			b.Fatal(len(s.Current), err)
		}
	}
}

// BenchmarkRead reads as a search does: the version, and the chunks of its passages.
func BenchmarkRead(b *testing.B) {
	c := open(b).Corpus()
	keys := fill(b, c, 1500, 10)
	b.Run("version", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Version(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{3, 10, 50} {
		b.Run(fmt.Sprintf("chunks=%d", n), func(b *testing.B) {
			for b.Loop() {
				some := make([]retrieval.ChunkKey, n)
				for i := range some {
					some[i] = keys[rand.IntN(len(keys))]
				}
				if got, err := c.Chunks(b.Context(), "ns", some); err != nil || len(got) != n {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// BenchmarkUnembedded looks for chunks without a vector when all 15,000 have one, as after each
// ingestion.
func BenchmarkUnembedded(b *testing.B) {
	c := open(b).Corpus()
	keys := fill(b, c, 1500, 10)
	g, err := c.BeginGeneration(b.Context(), retrieval.Generation{Model: "m", Recipe: "r"})
	if err != nil {
		b.Fatal(err)
	}
	hash := retrieval.Hash{1}
	vectors := retrieval.VectorBatch{Generation: g.ID, Length: 1, Vectors: []retrieval.Vector{{Hash: hash, Data: make([]byte, 4)}}}
	for _, key := range keys {
		vectors.Links = append(vectors.Links, retrieval.VectorLink{Key: key, Hash: hash})
	}
	if _, err := c.PutVectors(b.Context(), vectors); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if all, err := c.Unembedded(b.Context(), g.ID, retrieval.ChunkKey{}, 100); len(all) > 0 || err != nil {
			b.Fatal(len(all), err)
		}
	}
}

// BenchmarkSave commits a turn of a question and an answer.
func BenchmarkSave(b *testing.B) {
	s := open(b).State()
	for n := 0; b.Loop(); n++ {
		err := s.Save(b.Context(), turn.Record{ID: fmt.Sprint(n), Status: chat.StatusCompleted,
			Question: chat.TextMessage(llm.User, "question"),
			Answers:  []turn.Answer{{Message: chat.TextMessage(llm.Assistant, strings.Repeat("answer ", 100))}}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIntend commits the ledger entry that precedes a model call; the first token waits for
// it.
func BenchmarkIntend(b *testing.B) {
	s := open(b).State()
	for n := 0; b.Loop(); n++ {
		if err := s.Intend(b.Context(), ledger.Entry{ID: fmt.Sprint(n), TurnID: fmt.Sprint(n), Provider: "openai", Model: "m"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChats lists 10,000 chats.
func BenchmarkChats(b *testing.B) {
	s := open(b).Transcripts()
	scope := transcript.Scope{Kind: transcript.ChatUI, Namespace: "ns", Owner: "alice"}
	for n := range 10_000 {
		_, err := s.Save(b.Context(), scope, fmt.Sprintf("01JCHAT%019d", n), func(t *transcript.Transcript, _ bool) error {
			t.Mode, t.Title, t.LastMessage = "standard", "What does the travel policy say about trains?", strings.Repeat("x", 50)
			t.UpdatedAt = time.UnixMicro(int64(1_700_000_000_000_000 + n*1_000_003%7919))
			t.Messages = []transcript.Message{{Body: []byte(`{"role":"user","content":"x"}`)}}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if chats, err := s.Chats(b.Context(), scope, transcript.List{}); err != nil || len(chats) != 10_000 {
			b.Fatal(len(chats), err)
		}
	}
}
