package retrieval

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"parley/internal/llm"
)

// recipe names how embeddedText makes the text that stands for a chunk. Change it whenever that text changes: vectors of another
// recipe are then made anew, aside.
const recipe = "title-headings-text-1"

// embeddedText returns the text that is embedded for a chunk: its own text below the title of its document and the headings
// above it, which often name a subject that the text itself does not mention.
func embeddedText(title string, c Chunk) string { return textHead(title, c.Headings) + c.Text }

func textHead(title string, headings []string) string {
	var b strings.Builder
	if title != "" && !slices.Contains(headings, title) {
		b.WriteString(title + "\n")
	}
	if len(headings) > 0 {
		b.WriteString(strings.Join(headings, " > ") + "\n")
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// EmbedPlan counts the work of an embedding.
type EmbedPlan struct {
	Model     string // "provider:model"
	Documents int    // with chunks that have no vector
	Chunks    int    // without a vector
	Texts     int    // that the model would be asked for: those of the chunks that have not been embedded yet
	Tokens    int    // of these, estimated
}

// Planner adds up what an embedding would take. It only reads.
type Planner struct {
	plan       EmbedPlan
	store      UnembeddedChunks
	generation int64 // 0 when there is none yet
	seen       map[Hash]bool
}

// NewPlanner returns a planner of an embedding by a model.
func NewPlanner(ctx context.Context, store UnembeddedChunks, model string, dimensions int) (*Planner, error) {
	all, _, err := store.Generations(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the generations of vectors: %w", err)
	}
	p := &Planner{plan: EmbedPlan{Model: model}, store: store, seen: make(map[Hash]bool)}
	for _, g := range all {
		if g.State != Retired && g.Model == model && g.Dimensions == dimensions && g.Recipe == recipe {
			p.generation = g.ID
		}
	}
	return p, nil
}

// Plan returns the sum so far.
func (p *Planner) Plan() EmbedPlan { return p.plan }

// AddStored adds the chunks in the store that have no vector.
func (p *Planner) AddStored(ctx context.Context) error {
	var after ChunkKey
	for {
		page, err := p.store.Unembedded(ctx, p.generation, after, embedPage)
		if err != nil {
			return fmt.Errorf("read chunks without a vector: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, u := range page {
			if u.Chunk.Key.Revision != after.Revision {
				p.plan.Documents++
			}
			after = u.Chunk.Key
		}
		if err := p.add(ctx, page); err != nil {
			return err
		}
	}
}

// AddDocument adds a document that is not in the store.
func (p *Planner) AddDocument(ctx context.Context, title string, chunks []Chunk) error {
	p.plan.Documents++
	for page := range slices.Chunk(chunks, embedPage) {
		all := make([]Unembedded, len(page))
		for i, c := range page {
			all[i] = Unembedded{Chunk: c, Title: title}
		}
		if err := p.add(ctx, all); err != nil {
			return err
		}
	}
	return nil
}

func (p *Planner) add(ctx context.Context, page []Unembedded) error {
	p.plan.Chunks += len(page)
	forms := formsOf(page)
	known, err := p.store.KnownVectors(ctx, p.generation, hashesOf(forms))
	if err != nil {
		return fmt.Errorf("look for known vectors: %w", err)
	}
	for i, f := range forms {
		if known[f.hash] || p.seen[f.hash] {
			continue
		}
		p.seen[f.hash] = true
		p.plan.Texts++
		p.plan.Tokens += page[i].Chunk.Tokens + llm.EstimateTokens(textHead(page[i].Title, page[i].Chunk.Headings))
	}
	return nil
}

// form is a chunk in the form in which it is embedded.
type form struct {
	key  ChunkKey
	text string
	hash Hash
}

func formsOf(page []Unembedded) []form {
	forms := make([]form, len(page))
	for i, u := range page {
		text := embeddedText(u.Title, u.Chunk)
		forms[i] = form{key: u.Chunk.Key, text: text, hash: sha256.Sum256([]byte(text))}
	}
	return forms
}

func hashesOf(forms []form) []Hash {
	all := make([]Hash, len(forms))
	for i, f := range forms {
		all[i] = f.hash
	}
	return all
}
