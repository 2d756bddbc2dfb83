package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"

	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/retrieval"
)

// maxResults limits the passages of a search item, and maxResultText the bytes of each.
const (
	maxResults    = 50
	maxResultText = 4 << 10
)

// search sends the queries and results of the retrieval as an item, if the request has a search tool.
func (b *builder) search() error {
	if b.x.search == "" {
		return nil
	}
	item := searchItem{ID: b.newID(searchPrefix), Type: b.x.search, Status: inProgress, Queries: []string{}}
	if b.query.Query != "" {
		item.Queries = []string{b.query.Query}
	}
	if err := b.open(&item); err != nil {
		return err
	}
	index := len(b.x.res.Output) - 1
	if b.x.search == fileSearchItem {
		for _, state := range []string{inProgress, searching, completed} {
			if err := b.emit(searchEvent{b.head("response.file_search_call." + state), item.ID, index}); err != nil {
				return err
			}
		}
	}
	done := item
	done.Status = completed
	if b.x.results {
		done.Results = b.resultsOf()
	}
	return b.close(&done)
}

func (b *builder) resultsOf() []result {
	results := make([]result, 0, len(b.found.Passages))
	for _, p := range b.found.Passages[:min(len(b.found.Passages), maxResults)] {
		r := result{
			FileID: p.Document.ID, Filename: path.Base(p.Document.Name), Score: p.Score,
			Text: cut(p.Chunk.Text, maxResultText), Attributes: json.RawMessage("{}"),
			Page: p.Chunk.PageAt(0), URL: b.h.catalog.LinkTo(&chat.Citation{
				Namespace: p.Document.Namespace, Name: p.Document.Name, Page: p.Chunk.PageAt(0), URL: p.Document.URL,
			}, b.x.base, b.x.req.Namespace),
		}
		if m, ok := b.files[p.Document.ID]; ok {
			r.FileID, r.Filename = m.File, m.Filename
			if m.Attributes != nil {
				r.Attributes = m.Attributes
			}
		}
		results = append(results, r)
	}
	return results
}

// findFiles sets b.files to the files that the passages come from: files in vector stores or in the request.
func (b *builder) findFiles(ctx context.Context, found chat.PassagesRetrieved) error {
	b.files = map[string]library.Member{}
	for _, p := range found.Passages {
		if p.Document.Namespace == retrieval.InGiven {
			m := library.Member{Filename: p.Document.Name}
			if p.Document.URL != "" {
				m.File = p.Document.ID
			}
			b.files[p.Document.ID] = m
			continue
		}
		store, ok := b.x.opened[cmp.Or(p.Document.Namespace, b.x.req.Namespace)]
		if !ok {
			continue
		}
		m, err := store.File(ctx, p.Document.ID)
		switch {
		case errors.Is(err, library.ErrNotFound): // it has just been removed
		case err != nil:
			return unreachable(err)
		default:
			b.files[p.Document.ID], b.files[p.Document.Name] = m, m
		}
	}
	return nil
}

// reason adds a piece of the model's reasoning. Reasoning that arrives after the answer has begun is
// dropped, because each item must end before the next one begins.
func (b *builder) reason(text string) error {
	if b.text != nil {
		return nil
	}
	if b.reasoning == nil {
		if err := b.openReasoning(); err != nil {
			return err
		}
	}
	b.reasoned.WriteString(text)
	return b.emit(reasoningDeltaEvent{b.head(b.reasoningName("delta")), b.reasoningAt(), text})
}

// summarized reports whether the client asked for a summary of the reasoning. If so, the reasoning
// itself is sent as the summary, since there is no other.
func (b *builder) summarized() bool { return b.x.res.Reasoning.Summary != nil }

func (b *builder) reasoningName(step string) string {
	if b.summarized() {
		return "response.reasoning_summary_text." + step
	}
	return "response.reasoning." + step
}

func (b *builder) reasoningAt() reasoningPlace {
	at, first := reasoningPlace{Item: b.reasoning.ID, Output: len(b.x.res.Output) - 1}, new(int)
	if b.summarized() {
		at.Summary = first
	} else {
		at.Content = first
	}
	return at
}

func (b *builder) reasoningPart(text string) reasoningPart {
	if b.summarized() {
		return reasoningPart{Type: "summary_text", Text: text}
	}
	return reasoningPart{Type: "reasoning_text", Text: text}
}

func (b *builder) reasoningPartName(step string) string {
	if b.summarized() {
		return "response.reasoning_summary_part." + step
	}
	return "response.content_part." + step
}

func (b *builder) openReasoning() error {
	if err := b.begin(b.requested); err != nil {
		return err
	}
	b.reasoning = &reasoningItem{ID: b.newID(reasoningPrefix), Type: "reasoning", Status: inProgress, Summary: []reasoningPart{}}
	if err := b.open(b.reasoning); err != nil {
		return err
	}
	return b.emit(reasoningPartEvent{b.head(b.reasoningPartName("added")), b.reasoningAt(), b.reasoningPart("")})
}

func (b *builder) closeReasoning(status string) error {
	if b.reasoning == nil {
		return nil
	}
	at, part := b.reasoningAt(), b.reasoningPart(b.reasoned.String())
	if err := b.emit(reasoningDoneEvent{b.head(b.reasoningName("done")), at, part.Text}); err != nil {
		return err
	}
	if err := b.emit(reasoningPartEvent{b.head(b.reasoningPartName("done")), at, part}); err != nil {
		return err
	}
	item := *b.reasoning
	item.Status = status
	if b.summarized() {
		item.Summary = []reasoningPart{part}
	} else {
		item.Content = []reasoningPart{part}
	}
	b.reasoning = nil
	return b.close(&item)
}
