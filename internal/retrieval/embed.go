package retrieval

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/internal/llm"
	"parley/internal/vector"
)

// EmbedReport says what an embedding has done so far, or in all.
type EmbedReport struct {
	Model    string // "provider:model"
	Chunks   int    // that have got a vector, or will not get one
	Known    int    // of these chunks, those whose text already had a vector
	Refused  int    // texts that the model does not accept; they are found by their words only
	Usage    llm.Usage
	Duration time.Duration
}

const (
	embedPage  = 256    // chunks that are embedded and committed together
	cacheBound = 10_000 // vectors without a chunk that are kept, in case the text comes back
	sweepLimit = 1000   // rows that one transaction deletes
)

// PlanEmbedding returns what Embed would do now. It asks no model.
func (c *Corpus) PlanEmbedding(ctx context.Context) (EmbedPlan, error) {
	if c.embedding == nil {
		return EmbedPlan{}, nil
	}
	p, err := NewPlanner(ctx, c.store, c.embedding.Model, c.embedding.Dimensions)
	if err == nil {
		err = p.AddStored(ctx)
	}
	if err != nil {
		return EmbedPlan{}, err
	}
	return p.Plan(), nil
}

// Embed gives every chunk without a vector one of the configured model, in all namespaces, and then makes searches use these
// vectors. Until they are complete, searches go on using the old ones. Committed vectors stay: an Embed that is interrupted at
// any point continues where it stopped. Progress, which may be nil, is called after each commit, from the caller's goroutine.
//
// Only one process at a time should embed: two would pay for the same texts.
func (c *Corpus) Embed(ctx context.Context, progress func(EmbedReport)) (EmbedReport, error) {
	if c.embedding == nil {
		return EmbedReport{}, nil
	}
	if progress == nil {
		progress = func(EmbedReport) {}
	}
	began := time.Now()
	p := &pass{Corpus: c, progress: progress, report: EmbedReport{Model: c.embedding.Model}}
	err := p.run(ctx)
	p.report.Duration = time.Since(began)
	if p.refusal != nil {
		c.log.Warn("the model refuses some texts, which are found by their words only",
			"model", p.report.Model, "texts", p.report.Refused, "error", p.refusal)
	}
	return p.report, err
}

// pass is one run of Embed.
type pass struct {
	*Corpus
	progress   func(EmbedReport)
	report     EmbedReport
	embedder   llm.Embedder
	model      string // as the embedder knows it
	generation Generation
	refusal    error // of the last text that was refused
}

func (p *pass) run(ctx context.Context) (err error) {
	if p.embedder, p.model, err = p.embedding.Embedders.ResolveEmbedder(p.embedding.Model); err != nil {
		return err
	}
	p.generation, err = p.store.BeginGeneration(ctx, Generation{
		Model: p.embedding.Model, Dimensions: p.embedding.Dimensions, Recipe: recipe,
	})
	if err != nil {
		return fmt.Errorf("begin to embed with %s: %w", p.embedding.Model, err)
	}
	for {
		n, err := p.embedAll(ctx)
		if err != nil {
			return err
		}
		more, err := p.index(ctx) // before these vectors are used
		if err != nil {
			return err
		}
		n += more
		done, err := p.finish(ctx)
		if err != nil {
			return err
		}
		if done {
			break
		}
		if n == 0 {
			return errors.New("some chunks get no vector") // it would go on for ever
		}
	}
	return p.sweep(ctx)
}

// meanwhileEvery is the time between two searches for new documents while the database indexes vectors.
const meanwhileEvery = time.Second

// index makes the database index the vectors if they are too many for memory. Chunks that arrive meanwhile get their vectors at
// once, because the first index of a large namespace takes minutes. It returns the number of these chunks.
func (p *pass) index(ctx context.Context) (n int, err error) {
	if p.Corpus.index == nil {
		return 0, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	built := make(chan struct{})
	go func() {
		defer close(built)
		p.buildIndexes(ctx)
	}()
	defer func() { cancel(); <-built }()
	var seen int64
	for {
		select {
		case <-built:
			if n > 0 {
				p.buildIndexes(ctx) // adds the new vectors
			}
			return n, ctx.Err()
		case <-time.After(meanwhileEvery):
		}
		version, err := p.store.Version(ctx)
		if err != nil {
			return n, fmt.Errorf("read the corpus version: %w", err)
		}
		if version == seen {
			continue
		}
		seen = version
		more, err := p.embedAll(ctx)
		if n += more; err != nil {
			return n, err
		}
	}
}

func (p *pass) buildIndexes(ctx context.Context) {
	if err := p.keepIndexes(ctx); err != nil {
		p.log.Error("index the vectors in the database; until it succeeds they are searched in memory", "error", err)
	}
}

// finish makes searches use a generation that is complete, and reports whether it is complete.
func (p *pass) finish(ctx context.Context) (bool, error) {
	if p.generation.State == Building {
		err := p.store.SwitchGeneration(ctx, p.generation.ID)
		if errors.Is(err, ErrIncomplete) {
			return false, nil // documents were added meanwhile
		}
		if err != nil {
			return false, fmt.Errorf("switch to the new vectors: %w", err)
		}
		p.generation.State = Current
	}
	return true, p.refreshAll(ctx)
}

// refreshAll brings the vectors in memory up to date.
func (c *Corpus) refreshAll(ctx context.Context) error {
	c.mu.Lock()
	var namespaces []string
	for ns := range c.spaces {
		namespaces = append(namespaces, ns)
	}
	c.mu.Unlock()
	for _, ns := range namespaces {
		release := c.keep(ns)
		err := c.refreshVectors(ctx, ns, true)
		release()
		if err != nil {
			return fmt.Errorf("load the vectors of namespace %q: %w", ns, err)
		}
	}
	return nil
}

// embedAll goes once through the chunks without a vector and returns how many there were.
func (p *pass) embedAll(ctx context.Context) (n int, err error) {
	var after ChunkKey
	for {
		page, err := p.store.Unembedded(ctx, p.generation.ID, after, embedPage)
		if err != nil {
			return n, fmt.Errorf("read chunks without a vector: %w", err)
		}
		if len(page) == 0 {
			return n, nil
		}
		if err := p.embedPage(ctx, formsOf(page)); err != nil {
			return n, err
		}
		n += len(page)
		after = page[len(page)-1].Chunk.Key
	}
}

// embedPage embeds those of the texts that have no vector, and commits.
func (p *pass) embedPage(ctx context.Context, forms []form) error {
	known, err := p.store.KnownVectors(ctx, p.generation.ID, hashesOf(forms))
	if err != nil {
		return fmt.Errorf("look for known vectors: %w", err)
	}
	b := VectorBatch{Generation: p.generation.ID}
	var texts []string
	for _, f := range forms {
		b.Links = append(b.Links, VectorLink{Key: f.key, Hash: f.hash})
		if known[f.hash] {
			p.report.Known++
			continue
		}
		known[f.hash] = true
		texts = append(texts, f.text)
		b.Vectors = append(b.Vectors, Vector{Hash: f.hash})
	}
	vectors, err := p.vectors(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed %d texts with %s: %w", len(texts), p.embedding.Model, err)
	}
	for i, v := range vectors {
		if v != nil {
			b.Vectors[i].Data, b.Length = vector.Encode(v), len(v)
		}
	}
	if _, err := p.store.PutVectors(ctx, b); err != nil {
		return fmt.Errorf("store %d vectors: %w", len(b.Vectors), err)
	}
	p.report.Chunks += len(forms)
	p.progress(p.report)
	if p.generation.State != Current {
		return nil
	}
	return p.refreshAll(ctx)
}

// vectors returns a unit vector for each text, nil for those that the model refuses. If some texts of a page are refused, it
// embeds the page half by half.
func (p *pass) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := p.ask(ctx, texts)
	if err == nil || !isRefusal(err) {
		return vectors, err
	}
	if len(texts) > 1 {
		half := len(texts) / 2
		first, err := p.vectors(ctx, texts[:half])
		if err != nil {
			return nil, err
		}
		second, err := p.vectors(ctx, texts[half:])
		return append(first, second...), err
	}
	// Does the model refuse this text, or any text?
	if _, err := p.ask(ctx, []string{"Parley"}); err != nil {
		return nil, err
	}
	p.report.Refused, p.refusal = p.report.Refused+1, err
	return [][]float32{nil}, nil
}

// ask embeds texts in one call.
func (p *pass) ask(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := p.embedder.Embed(ctx, llm.EmbedRequest{
		Model: p.model, Texts: texts, Purpose: llm.ForDocument, Dimensions: p.generation.Dimensions, Background: true,
	})
	p.report.Usage = p.report.Usage.Add(out.Usage)
	if err != nil {
		return nil, err
	}
	vectors, err := unitVectors(out.Vectors, len(texts), p.generation.Length)
	if err == nil {
		p.generation.Length = len(vectors[0])
	}
	return vectors, err
}

// isRefusal reports whether an error may be about the texts, so that a call with other texts may succeed.
func isRefusal(err error) bool {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		switch e.Status {
		case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return !e.Retryable
		}
		return e.Filtered
	}
	return errors.Is(err, vector.ErrDirection)
}

// sweep deletes what no search needs any more, in small transactions.
func (p *pass) sweep(ctx context.Context) error {
	for {
		n, err := p.store.SweepVectors(ctx, cacheBound, sweepLimit)
		if err != nil {
			return fmt.Errorf("delete old vectors: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}
