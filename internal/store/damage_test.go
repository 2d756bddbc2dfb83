package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/documents/job"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/transcript"
	"parley/internal/turn"
	"parley/test/needs"
)

// Wherever a database file is changed or cut, each answer is either unchanged or an error that
// names the file and how to repair it. The test damages 60 files, 1,000 with PARLEY_TEST_ALL=1, or
// PARLEY_DAMAGE_PLACES, at random places.
func TestStore_NeverAnswersFromDamage(t *testing.T) {
	rounds := 60
	if needs.All() && !needs.Race {
		rounds = 1000
	}
	seed := uint64(3)
	if places := os.Getenv("PARLEY_DAMAGE_PLACES"); places != "" {
		var err error
		if rounds, err = strconv.Atoi(places); err != nil || rounds < 20 {
			t.Fatalf("PARLEY_DAMAGE_PLACES=%s: it must be a number from 20 on", places)
		}
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 1))
	whole, want := wholeFolder(t)
	var noticed, unopened int
	for round := range rounds {
		name := []string{"corpus.db", "state.db"}[round%2]
		broken, what := damage(r, whole[name])
		at := fmt.Sprintf("seed %d, round %d, %s, %s", seed, round, name, what)
		dir := t.TempDir()
		for file, data := range whole {
			if file == name {
				data = broken
			}
			if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := answers(t.Context(), dir)
		if err != nil {
			unopened++
			checkDamage(t, at, filepath.Join(dir, name), err)
			continue
		}
		before := noticed
		for question, a := range got {
			if a.err != nil {
				noticed = before + 1
				checkDamage(t, at+", "+question, filepath.Join(dir, name), a.err)
			} else if a.text != want[question].text {
				t.Errorf("%s: %s is\n%.300s\nand was\n%.300s", at, question, a.text, want[question].text)
			}
		}
	}
	if noticed == 0 || unopened == 0 {
		t.Error("no damage was noticed")
	}
	t.Logf("seed %d: of %d damaged databases %d were not opened, %d noticed while reading, and %d had their damage where nothing is read",
		seed, rounds, unopened, noticed, rounds-unopened-noticed)
}

// checkDamage fails unless err names the damaged file at path and how to repair it.
func checkDamage(t *testing.T, at, path string, err error) {
	t.Helper()
	e, ok := errors.AsType[*DamagedError](err)
	if !ok || e.Path != path || !strings.Contains(err.Error(), "the database "+path+" is damaged") ||
		!strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("%s: %v", at, err)
	}
}

// damage returns a damaged copy of a file and a description of the damage.
func damage(r *rand.Rand, whole []byte) (broken []byte, what string) {
	broken = bytes.Clone(whole)
	if r.IntN(5) == 0 {
		n := 1 + r.IntN(len(broken)-1)
		return broken[:n], fmt.Sprintf("cut after %d bytes", n)
	}
	for range 1 + r.IntN(4) {
		at := r.IntN(len(broken))
		broken[at] ^= byte(1 + r.IntN(255))
		what += fmt.Sprintf("byte %d flipped ", at)
	}
	return broken, strings.TrimSpace(what)
}

// wholeFolder returns databases with every kind of row, and their answers.
func wholeFolder(t *testing.T) (files map[string][]byte, want map[string]answer) {
	t.Helper()
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(fillCorpus(t.Context(), db.Corpus()), fillState(t.Context(), db), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for _, name := range []string{"corpus.db", "state.db"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if want, err = answers(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for question, a := range want {
		if a.err != nil || a.text == "" || a.text == "null" || a.text == "[]" {
			t.Fatalf("%s: %q, %v: nothing to compare", question, a.text, a.err)
		}
	}
	return files, want
}

// damagedSource returns the bytes of a corpus with documents of every kind of row.
func damagedSource(t *testing.T) []byte {
	t.Helper()
	files, _ := wholeFolder(t)
	return files["corpus.db"]
}

const damagedDocuments = 20

func fillCorpus(ctx context.Context, c *Corpus) error {
	rev, err := c.NextRevisions(ctx, damagedDocuments)
	if err != nil {
		return err
	}
	b := retrieval.Batch{Namespace: "ns", PutRoots: []retrieval.Root{{Path: "/docs", Prefix: "p"}},
		AddSegments: []retrieval.Segment{{Generation: "g", Revisions: []int64{1, 2, 3}, Data: bytes.Repeat([]byte("segment"), 5000)}}}
	for i := range damagedDocuments {
		revision := rev + int64(i)
		p := retrieval.Put{Document: retrieval.Document{ID: fmt.Sprint("id", i), Name: fmt.Sprint("name", i), Title: "Title", Revision: revision},
			Pages: []retrieval.Page{{Number: 1, Text: strings.Repeat("page ", 200)}, {Number: 2, Text: strings.Repeat("a long page ", 1000), Map: []byte("map")}}}
		if i%2 == 0 {
			p.Document.Access.Users = []string{"u", fmt.Sprint("user", i)}
		}
		for n := range 5 {
			p.Chunks = append(p.Chunks, retrieval.Chunk{Key: retrieval.ChunkKey{Revision: revision, Ordinal: n},
				Text: strings.Repeat("chunk ", 150), Headings: []string{"h"}, Spans: []retrieval.Span{{End: 10}}})
		}
		b.Put = append(b.Put, p)
		b.PutFiles = append(b.PutFiles, retrieval.File{FileKey: retrieval.FileKey{Root: "/docs", Path: p.Document.Name}, DocumentID: p.Document.ID})
	}
	if _, err := c.Apply(ctx, b); err != nil {
		return err
	}
	g, err := c.BeginGeneration(ctx, retrieval.Generation{Model: "m", Recipe: "r"})
	if err != nil {
		return err
	}
	vectors := retrieval.VectorBatch{Generation: g.ID, Length: 256}
	for i := range damagedDocuments {
		hash := retrieval.Hash{byte(i)}
		vectors.Vectors = append(vectors.Vectors, retrieval.Vector{Hash: hash, Data: bytes.Repeat([]byte{byte(i), 1, 2, 3}, 256)})
		vectors.Links = append(vectors.Links, retrieval.VectorLink{Key: retrieval.ChunkKey{Revision: rev + int64(i)}, Hash: hash})
	}
	_, err = c.PutVectors(ctx, vectors)
	return err
}

const damagedTurns = 30

var (
	damagedScope = turn.Scope{Namespace: "ns", Owner: "u"}
	damagedChats = transcript.Scope{Kind: "k", Namespace: "ns", Owner: "u"}
	damagedTime  = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
)

func damagedTurn(n int) (id, conversation string) {
	return fmt.Sprintf("01TURN%04d", n), fmt.Sprint("c", n%5)
}

func fillState(ctx context.Context, db *DB) error {
	for n := range damagedTurns {
		id, conversation := damagedTurn(n)
		at := damagedTime.Add(time.Duration(n) * time.Second)
		r := turn.Record{ID: id, Scope: damagedScope, ConversationID: conversation, Seen: int64(n / 5), Status: chat.StatusCompleted,
			Query: "question", StartedAt: at, FinishedAt: at,
			Question: chat.Message{ID: "q", Role: llm.User, Parts: []llm.Part{{Text: strings.Repeat("why? ", 20)}}, CreatedAt: at},
			Answers: []turn.Answer{{Status: chat.StatusCompleted, Message: chat.Message{ID: "a", Role: llm.Assistant, CreatedAt: at,
				Parts:     []llm.Part{{Text: strings.Repeat("because. ", 100)}},
				Citations: []chat.Citation{{Label: "a.pdf#page=2", Name: "a.pdf", Page: 2, Snippet: "snippet"}}}}},
			Said: &turn.Said{Events: bytes.Repeat([]byte("event"), 200)},
		}
		e := ledger.Entry{ID: "01ENTRY" + id, TurnID: id, ConversationID: conversation, Scope: damagedScope, Stage: chat.StageGenerate,
			Provider: "p", Model: "m", Status: ledger.Completed, Usage: llm.Usage{Input: 10, Output: 5},
			Cost: ledger.Cost{Micros: 7, Known: true}, CreatedAt: at, SettledAt: at}
		r.Ended = []ledger.Entry{e}
		err := errors.Join(db.State().Intend(ctx, e), db.State().Save(ctx, r),
			db.Jobs().Add(ctx, job.Job{ID: fmt.Sprintf("01JOB%04d", n), Kind: "k", Namespace: "ns", Owner: "u", State: job.Queued,
				Request: json.RawMessage(`{"a":1}`), CreatedAt: at, QueuedAt: at}))
		if err != nil {
			return err
		}
		_, err = db.Transcripts().Save(ctx, damagedChats, conversation, func(t *transcript.Transcript, _ bool) error {
			t.Title, t.CreatedAt, t.UpdatedAt = "Title", at, at
			t.Messages = append(t.Messages, transcript.Message{ID: id, Body: json.RawMessage(`{"text":"` + strings.Repeat("words ", 50) + `"}`)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answer is the result of one query.
type answer struct {
	text string
	err  error
}

// answers opens a folder and runs every query. The error says why the folder cannot be opened.
func answers(ctx context.Context, dir string) (map[string]answer, error) {
	db, err := Open(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	all := asked{}
	askCorpus(ctx, all, db.Corpus())
	askState(ctx, all, db)
	return all, nil
}

type asked map[string]answer

func (a asked) add(question string, got any, err error) {
	a[question] = answer{text: fmt.Sprintf("%+v", got), err: err}
}

func askCorpus(ctx context.Context, all asked, c *Corpus) {
	snap, err := c.Snapshot(ctx, "ns")
	all.add("snapshot", snap, err)
	data, err := c.SegmentData(ctx, 1)
	all.add("segment", data, err)
	namespaces, err := c.Namespaces(ctx)
	all.add("namespaces", namespaces, err)
	for _, who := range []string{"u", "user2", "nobody"} {
		f := retrieval.Filter{Namespace: "ns", Principal: access.Principal{Subject: who}}
		documents, err := c.Documents(ctx, f, "", 100)
		all.add("documents of "+who, documents, err)
		one, err := c.Document(ctx, f, "name1")
		all.add("document of "+who, one, err)
	}
	for revision := int64(1); revision <= damagedDocuments; revision++ {
		pages, err := c.Pages(ctx, revision)
		all.add(fmt.Sprint("pages ", revision), pages, err)
		chunks, err := c.RevisionChunks(ctx, revision)
		all.add(fmt.Sprint("chunks ", revision), chunks, err)
		passages, err := c.Chunks(ctx, "ns", []retrieval.ChunkKey{{Revision: revision, Ordinal: 3}})
		all.add(fmt.Sprint("passage ", revision), passages, err)
	}
	files, err := c.Files(ctx, "ns", "/docs")
	all.add("files", files, err)
	generations, _, err := c.Generations(ctx)
	all.add("generations", generations, err)
	var vectors []string
	err = nil
	for v, failed := range c.LinkedVectors(ctx, "ns", 1, 0, 100) {
		vectors, err = append(vectors, fmt.Sprint(v)), failed
	}
	all.add("vectors", vectors, err)
}

func askState(ctx context.Context, all asked, db *DB) {
	s := db.State()
	conversations, err := s.Conversations(ctx, damagedScope, "", turn.Position{}, 100)
	all.add("conversations", conversations, err)
	for n := range damagedTurns {
		id, conversation := damagedTurn(n)
		c, err := s.Conversation(ctx, damagedScope, conversation, 100)
		all.add("history "+conversation, c, err)
		r, err := s.Turn(ctx, damagedScope, id)
		all.add("turn "+id, r, err)
		said, err := s.Said(ctx, id)
		all.add("said "+id, said, err)
		entries, err := s.Entries(ctx, id)
		all.add("ledger "+id, entries, err)
		totals, err := s.Totals(ctx, ledger.AccountKey{Owner: "u", Stored: true, Conversation: conversation})
		all.add("totals "+conversation, totals, err)
		chat, err := db.Transcripts().Transcript(ctx, damagedChats, conversation)
		all.add("chat "+conversation, chat, err)
	}
	usage, err := s.Usage(ctx, ledger.UsageQuery{By: []ledger.Dimension{ledger.ByModel}})
	all.add("usage", usage, err)
	chats, err := db.Transcripts().Chats(ctx, damagedChats, transcript.List{})
	all.add("chats", chats, err)
	jobs, err := db.Jobs().Jobs(ctx, job.List{Owner: "u", Limit: 100})
	all.add("jobs", jobs, err)
	unfinished, err := db.Jobs().Unfinished(ctx)
	all.add("unfinished jobs", unfinished, err)
}
