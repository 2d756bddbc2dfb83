package azurechat

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// replyContext is the "context" of a reply. Keys are in the order of the documents' streamed examples,
// as far as those show one.
type replyContext struct {
	DataPoints  any      `json:"data_points,omitempty"` // *dataPoints or *lateDataPoints
	Thoughts    any      `json:"thoughts,omitempty"`    // []thought, or one string for the web component
	FollowUps   []string `json:"followup_questions,omitempty"`
	Unsupported []string `json:"unsupported_citations,omitempty"` // citations in the answer whose pages do not support it
}

type dataPoints struct {
	Text      []string    `json:"text"`
	Images    []imageData `json:"images,omitempty"`
	Citations []string    `json:"citations"` // every page that the passages span; required by later front ends
}

// lateDataPoints is dataPoints as later front ends read them.
type lateDataPoints struct {
	Text      []string `json:"text"`
	Images    []string `json:"images"` // URLs
	Citations []string `json:"citations"`

	External []struct{} `json:"external_results_metadata"` // from the web and SharePoint; always empty
	Activity struct{}   `json:"citation_activity_details"` // of agentic retrieval; always empty
}

type imageData struct {
	Detail string `json:"detail"`
	URL    string `json:"url"`
}

type thought struct {
	Title       string `json:"title"`
	Description any    `json:"description"` // string, []string or []result, depending on Title
	Props       any    `json:"props"`       // nil except for the search query
}

type queryProps struct {
	Captions  bool `json:"use_semantic_captions"`
	HasVector bool `json:"has_vector"`
}

type result struct {
	ID             string    `json:"id"`
	Content        string    `json:"content"`
	Embedding      *struct{} `json:"embedding"`      // always null
	ImageEmbedding *struct{} `json:"imageEmbedding"` // always null
	Category       *string   `json:"category"`
	SourcePage     string    `json:"sourcepage"`
	SourceFile     string    `json:"sourcefile"`
	OIDs           []string  `json:"oids"`
	Groups         []string  `json:"groups"`
	Captions       []caption `json:"captions"`
	Score          float64   `json:"score"`
}

type caption struct {
	AdditionalProperties struct{} `json:"additional_properties"`
	Text                 string   `json:"text"`
	Highlights           []string `json:"highlights"`
}

// openingContext returns the part of the context that is known before the model is called. The thoughts never change later.
func (x *exchange) openingContext(t *chat.Turn) replyContext {
	c := replyContext{DataPoints: x.dataPointsOf(t), Thoughts: x.thoughtsOf(t)}
	if x.webComponent {
		c.Thoughts = x.thoughtsHTML(t)
	}
	return c
}

// closingContext returns the part of the context that is known only after the answer.
func (x *exchange) closingContext(t *chat.Turn) replyContext {
	c := replyContext{FollowUps: t.FollowUps, Unsupported: t.Messages[len(t.Messages)-1].Unsupported()}
	if x.webComponent {
		c.FollowUps = nil // they are in the text
	}
	return c
}

func (c replyContext) empty() bool {
	return c.DataPoints == nil && c.Thoughts == nil && len(c.FollowUps) == 0 && len(c.Unsupported) == 0
}

// render encodes a context for a line or a reply.
func (c replyContext) render() (json.RawMessage, error) {
	raw, err := wire.AppendJSON(nil, c)
	if err != nil {
		return nil, fmt.Errorf("render the context: %w", err)
	}
	return raw, nil
}

func (x *exchange) dataPointsOf(t *chat.Turn) any {
	if x.knowsLater() {
		late := &lateDataPoints{Text: wire.ListOf(t.Prompt.Sources), Images: []string{}, Citations: wire.ListOf(t.Prompt.Labels), External: []struct{}{}}
		for _, image := range x.sourceImages(t) {
			late.Images = append(late.Images, image.URL)
		}
		return late
	}
	return &dataPoints{
		Text:      wire.ListOf(t.Prompt.Sources),
		Images:    x.sourceImages(t),
		Citations: wire.ListOf(t.Prompt.Labels),
	}
}

// sourceImages returns the images of the prompt that the user did not send.
func (x *exchange) sourceImages(t *chat.Turn) []imageData {
	sent := map[string]bool{}
	for _, m := range x.req.Messages {
		for _, p := range m.Parts {
			sent[p.Image] = true
		}
	}
	var images []imageData
	for _, m := range t.Prompt.Messages {
		for _, p := range m.Parts {
			if p.Image != "" && !sent[p.Image] {
				images = append(images, imageData{Detail: "auto", URL: p.Image})
			}
		}
	}
	return images
}

func (x *exchange) thoughtsOf(t *chat.Turn) []thought {
	original, query := x.queries(t)
	props := queryProps{Captions: t.Retrieved.Captions, HasVector: t.Retrieved.HasVector}
	return []thought{
		{Title: "Original user query", Description: original},
		{Title: "Generated search query", Description: query, Props: props},
		{Title: "Results", Description: resultsOf(t.Retrieved.Passages)},
		{Title: "Prompt", Description: promptStrings(t.Prompt.Messages)},
	}
}

// thoughtsHTML returns the thoughts for the web component, which inserts them into the page as HTML.
// Everything except the line breaks is escaped.
func (x *exchange) thoughtsHTML(t *chat.Turn) string {
	_, query := x.queries(t)
	lines := append([]string{"Search query:", query, "", "Conversations:"}, promptStrings(t.Prompt.Messages)...)
	return strings.ReplaceAll(html.EscapeString(strings.Join(lines, "\n")), "\n", "<br>")
}

// queries returns the question as the user asked it, and the query that was searched for.
func (x *exchange) queries(t *chat.Turn) (original, query string) {
	original, query = t.Rewrite.Original, t.Rewrite.Query
	if original == "" {
		for _, m := range x.req.Messages {
			if m.Role == "user" {
				original = m.Text()
			}
		}
	}
	if query == "" {
		query = original
	}
	return original, query
}

func resultsOf(passages []retrieval.Passage) []result {
	results := make([]result, 0, len(passages))
	for _, p := range passages {
		r := result{
			ID:         resultID(p),
			Content:    p.Chunk.Text,
			SourcePage: sourcePage(p),
			SourceFile: p.Document.Name,
			OIDs:       wire.ListOf(p.Document.Access.Users),
			Groups:     wire.ListOf(p.Document.Access.Groups),
			Captions:   captionsOf(p.Captions),
			Score:      p.Score,
		}
		if p.Document.Category != "" {
			r.Category = &p.Document.Category
		}
		results = append(results, r)
	}
	return results
}

func captionsOf(texts []string) []caption {
	captions := make([]caption, 0, len(texts))
	for _, text := range texts {
		captions = append(captions, caption{Text: text, Highlights: []string{}})
	}
	return captions
}

// sourcePage returns the citation of a passage's first page.
func sourcePage(p retrieval.Passage) string {
	if len(p.Chunk.Spans) == 0 || p.Chunk.Spans[0].Page == 0 {
		return p.Document.Name
	}
	return p.Document.Name + "#page=" + strconv.Itoa(p.Chunk.Spans[0].Page)
}

// resultID returns an id in the form that the documents show: the name with unsafe characters replaced, the
// name in hexadecimal, so that different names never collide, and the ordinal of the chunk.
func resultID(p retrieval.Passage) string {
	name := p.Document.Name
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '_'
	}, name)
	return "file-" + safe + "-" + strings.ToUpper(hex.EncodeToString([]byte(name))) +
		"-page-" + strconv.Itoa(p.Chunk.Key.Ordinal)
}
