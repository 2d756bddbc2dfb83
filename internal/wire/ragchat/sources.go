package ragchat

import (
	"fmt"
	"strings"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/lazyregexp"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// source is a passage that the model received.
type source struct {
	ID      string   `json:"id"`
	Score   *float64 `json:"score,omitempty"` // in [0, 1]; absent in a history
	Payload payload  `json:"payload"`
}

type payload struct {
	URL        string `json:"url"` // absolute, of the cited page
	Title      string `json:"title"`
	Text       string `json:"text"`
	Section    string `json:"section"` // headings, outermost first; "" for none
	Page       *int   `json:"page"`    // null if the format has no pages
	ChunkIndex *int   `json:"chunk_index,omitempty"`
	Citation   string `json:"citation"` // as between brackets in the answer
}

// sourcesOf returns the passages of the prompt, best first.
func (v *view) sourcesOf(t *chat.Turn) []source {
	sent := t.InPrompt()
	all := make([]source, len(sent))
	for i := range sent {
		all[i] = v.sourceOf(&sent[i])
	}
	return all
}

func (v *view) sourceOf(p *retrieval.Passage) source {
	label := cite.LabelOf(p)
	return source{
		ID:    sourceID(p),
		Score: &p.Score,
		Payload: payload{
			URL: v.urlOf(p.Document.Namespace, p.Document.URL, label), Title: p.Document.Title, Text: p.Chunk.Text,
			Section: section(p.Chunk.Headings), Page: pageOf(p.Chunk.Spans[0].Page),
			ChunkIndex: &p.Chunk.Key.Ordinal, Citation: label,
		},
	}
}

func sourceID(p *retrieval.Passage) string {
	return fmt.Sprintf("%s-%d", p.Document.ID, p.Chunk.Key.Ordinal)
}

// urlOf returns the URL at which readers find what a label cites in a namespace: the document's own address, or
// its original on this server.
func (v *view) urlOf(namespace, own, label string) string {
	return sourceURL(v.base, v.home, namespace, own, label)
}

// sourceURL is like urlOf, for a given base URL and home namespace.
func sourceURL(base, home, namespace, own, label string) string {
	if own != "" {
		return own
	}
	if namespace == home {
		namespace = ""
	}
	return wire.ContentURLIn(base, label, namespace)
}

func pageOf(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func section(headings []string) string { return strings.Join(headings, " > ") }

// sourceBlock returns the list of sources below an answer: a line for each cited document or page.
func (v *view) sourceBlock(t *chat.Turn, m chat.MessageFinished) string {
	if len(m.Citations) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nSources:")
	citable := t.Citable(m.ID)
	for _, c := range m.Citations {
		fmt.Fprintf(&b, "\n[%s] %s", c.Label, v.urlOf(v.namespace, c.URL, c.Label))
		if c.Passage < len(citable) { // a repeated turn lacks the passages of tools
			if s := section(citable[c.Passage].Chunk.Headings); s != "" {
				fmt.Fprintf(&b, " (Section: %s)", strings.Join(strings.Fields(s), " "))
			}
		}
	}
	return cite.Harmless(b.String(), cite.Nothing)
}

// block matches the blocks that sourceBlock and the original append to an answer.
var block = lazyregexp.New(`\n\nSources:(?:\n\[[^\n]*)+\s*$|\n\nTools Used:[^\n]*\s*$`)

// stripSources removes these blocks from an answer.
func stripSources(answer string) string {
	for {
		at := block.FindStringIndex(answer)
		if at == nil {
			return answer
		}
		answer = answer[:at[0]]
	}
}
