package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"parley/internal/lexical/lexicaltest"
	"parley/internal/retrieval"
	"parley/internal/store"
)

const (
	scaleDocument = 20 // passages of a generated document
	scaleSection  = 5  // passages of a section of a document
	scaleStarts   = 5
	scaleSearches = 1000
	scaleAnswers  = 300
	scaleContext  = 40 // words of the conversation added to a question: the maximum
)

// scale measures corpora of generated text, with the word frequencies of the shared sets: ingestion
// by the program, size, searches, and the server on them.
func (b *bench) scale(ctx context.Context) error {
	for field := range strings.SplitSeq(b.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < scaleDocument {
			return fmt.Errorf("-passages wants numbers of at least %d with commas between them, not %q", scaleDocument, b.sizes)
		}
		if err := b.scaleTo(ctx, n); err != nil {
			return fmt.Errorf("%d passages: %w", n, err)
		}
	}
	return nil
}

// scaleTo measures one corpus, and removes it unless it is to be kept.
func (b *bench) scaleTo(ctx context.Context, n int) error {
	c, took, err := b.generated(ctx, n)
	if err != nil {
		return err
	}
	if b.keep == "" {
		defer os.RemoveAll(filepath.Dir(c.data))
	}
	settle() // pending writes would slow down reads
	if err := c.measure(ctx); err != nil {
		return err
	}
	what := fmt.Sprintf("generated corpus, %d passages", c.stats.Chunks)
	chunks, text := float64(c.stats.Chunks), float64(c.stats.Bytes)/(1<<20)
	if took != nil {
		b.add(what+", ingested", "", "%.0f s, %.0f passages/s, %.1f MB/s (CPU %.0f s)", took.wall.Seconds(),
			chunks/took.wall.Seconds(), text/took.wall.Seconds(), took.cpu.Seconds())
	}
	b.add(what+", size a passage", "", "index %.0f bytes in %d segments, database %.0f (text %.0f)",
		float64(c.index)/chunks, c.segments, float64(c.database)/chunks, float64(c.stats.Bytes)/chunks)
	if err := c.search(ctx); err != nil {
		return err
	}
	goal := ""
	if n >= 1_000_000 {
		goal = "p99 ≤ 50 ms at 1,000,000"
	}
	b.add(what+", search, last turn, p50 / p99", goal, "%s", c.asIs.first)
	b.add(what+", search, with context, p50 / p99", goal, "%s", c.inContext.first)
	b.add(what+", the same two asked again at once, p50 / p99", "", "%s, %s", c.asIs.again, c.inContext.again)
	return b.scaleServer(ctx, c, what, n)
}

// generated returns a corpus of n passages and the cost of its ingestion, or nil for the cost if an
// earlier run kept the corpus.
func (b *bench) generated(ctx context.Context, n int) (*generatedCorpus, *cost, error) {
	dir := filepath.Join(cmp.Or(b.keep, b.work), fmt.Sprintf("scale-%d", n))
	c := &generatedCorpus{passages: passages{data: filepath.Join(dir, "data")}, folder: filepath.Join(dir, "documents")}
	program, err := b.build(ctx)
	if err != nil {
		return nil, nil, err
	}
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return c, nil, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, nil, err
	}
	if err := c.write(ctx, n); err != nil {
		return nil, nil, fmt.Errorf("generate it: %w", err)
	}
	took, err := consume(exec.CommandContext(ctx, program, "ingest", "--data", c.data, c.folder))
	if err != nil {
		return nil, nil, err
	}
	return c, &took, os.WriteFile(complete, nil, 0o600)
}

// scaleServer measures the start and the size of a server with a corpus.
func (b *bench) scaleServer(ctx context.Context, c *generatedCorpus, what string, n int) error {
	s := sample{data: func(int) string { return c.data }}
	for round := range scaleStarts {
		if err := s.measure(ctx, b, round); err != nil {
			return err
		}
	}
	server, _, err := b.parley(ctx, c.data)
	if err != nil {
		return err
	}
	defer server.stop()
	g := lexicaltest.New(3)
	for range scaleAnswers {
		if err := ask(ctx, server.url("/chat"), g.LastTurn()); err != nil {
			return err
		}
	}
	answering, err := server.resident()
	if err != nil {
		return err
	}
	b.add(what+", start to ready", "", "%.0f ms", ms(median(s.ready)))
	goal := ""
	if n <= 100_000 {
		goal = "≤ 300 MiB at 100,000"
	}
	b.add(what+", resident size", goal, "%.0f MiB at the start, %.0f MiB after %d answers", median(s.resident), answering, scaleAnswers)
	return nil
}

// generatedCorpus is a folder of generated documents, and its sizes.
type generatedCorpus struct {
	passages
	folder          string
	segments        int
	index, database int64 // bytes
	asIs, inContext twice
}

// searches are the wall and processor times of searches. On a busy machine the wall time includes
// other work.
type searches struct{ wall, cpu []time.Duration }

// twice are searches that ran once and then again. The first time depends on the disk, and on how
// much of the database the system has in memory.
type twice struct{ first, again searches }

// time adds a search.
func (t *twice) time(ctx context.Context, corpus *retrieval.Corpus, q retrieval.Query) error {
	for _, s := range []*searches{&t.first, &t.again} {
		before := spent()
		took, err := timed(ctx, corpus, q)
		if err != nil {
			return err
		}
		s.wall, s.cpu = append(s.wall, took), append(s.cpu, spent()-before)
	}
	return nil
}

func (s searches) String() string {
	return fmt.Sprintf("%.1f / %.1f ms (CPU %.1f / %.1f ms)",
		ms(median(s.wall)), ms(quantile(s.wall, .99)), ms(median(s.cpu)), ms(quantile(s.cpu, .99)))
}

// write generates documents with n passages in all. A passage is a paragraph that the splitter
// nearly always keeps whole.
func (c *generatedCorpus) write(ctx context.Context, n int) error {
	g := lexicaltest.New(1)
	for i := 0; i < n; i += scaleDocument {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := filepath.Join(c.folder, fmt.Sprintf("part-%d", i/scaleDocument/1000), fmt.Sprintf("report-%d.md", i/scaleDocument))
		if i/scaleDocument%1000 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
		}
		if err := writeDocument(name, g, min(scaleDocument, n-i)); err != nil {
			return err
		}
	}
	return nil
}

func writeDocument(name string, g *lexicaltest.Generator, passages int) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	g.Document()
	fmt.Fprintf(w, "# %s\n\n", g.Question(4))
	for i := range passages {
		if i%scaleSection == 0 {
			fmt.Fprintf(w, "## %s\n\n", g.Question(3))
		}
		fmt.Fprintf(w, "%s\n\n", g.Passage())
	}
	return w.Flush()
}

// measure reads the sizes of the stored corpus.
func (c *generatedCorpus) measure(ctx context.Context) error {
	err := c.with(ctx, func(corpus *retrieval.Corpus, stored *store.Corpus) error {
		var err error
		if c.stats, err = stored.Stats(ctx, namespace); err != nil {
			return err
		}
		snap, err := stored.Snapshot(ctx, namespace)
		if err != nil {
			return err
		}
		c.segments = len(snap.Segments)
		for _, s := range snap.Segments {
			data, err := stored.SegmentData(ctx, s.ID)
			if err != nil {
				return err
			}
			c.index += int64(len(data))
		}
		return nil
	})
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(c.data, "*.db"))
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		c.database += info.Size()
	}
	return nil
}

// search asks questions as short as last turns, alone and with words of a conversation.
func (c *generatedCorpus) search(ctx context.Context) error {
	return c.with(ctx, func(corpus *retrieval.Corpus, stored *store.Corpus) error {
		g := lexicaltest.New(2)
		for i := range scaleSearches + scaleSearches/10 {
			if i == scaleSearches/10 { // warm-up
				c.asIs, c.inContext = twice{}, twice{}
			}
			q := retrieval.Query{Text: g.LastTurn()}
			if err := c.asIs.time(ctx, corpus, q); err != nil {
				return err
			}
			for _, w := range g.Context(scaleContext) {
				q.Context = append(q.Context, retrieval.WeightedTerm{Word: w, Weight: .15})
			}
			if err := c.inContext.time(ctx, corpus, q); err != nil {
				return err
			}
		}
		return nil
	})
}
