package webapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/format"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// citationShown is a citation in responses. Start and End are offsets in the page's current text, in UTF-16 code units.
type citationShown struct {
	N          int         `json:"n"`
	Label      string      `json:"label"`
	DocumentID string      `json:"document_id"` // "" if the document is gone
	Name       string      `json:"name"`
	Title      string      `json:"title"`
	URL        string      `json:"url"`
	Namespace  string      `json:"namespace"`
	Page       int         `json:"page"`
	Kind       format.View `json:"kind"`
	Start      int         `json:"start"`
	End        int         `json:"end"`
	Quote      string      `json:"quote"`
	Passage    string      `json:"passage"`
	ContentURL string      `json:"content_url"`
	Supported  bool        `json:"supported"`
	Stale      bool        `json:"stale"`
	Spans      []citedSpan `json:"spans"`
}

type citedSpan struct {
	Occurrence int    `json:"occurrence"`
	Start      int    `json:"start"`
	End        int    `json:"end"`
	Quote      string `json:"quote"`
	Supported  bool   `json:"supported"`
	Stale      bool   `json:"stale"`
}

// snapshot is a citation as stored with the turn. It combines the citations of all messages that contain its
// label.
type snapshot struct {
	chat.Citation
	doubted bool // at least one place that cites it is unsupported
}

// snapshots returns the citations of all messages, one for each label.
func (v *view) snapshots() []snapshot {
	var all []snapshot
	seen := map[string]int{} // number of occurrences of a label in the messages so far
	add := func(text string, citations []chat.Citation, doubts []chat.Doubt) {
		for _, c := range citations {
			i := slices.IndexFunc(all, func(s snapshot) bool { return s.Label == c.Label })
			spans := slices.Clone(c.Spans)
			for j := range spans {
				spans[j].Occurrence += seen[c.Label]
			}
			doubted := slices.ContainsFunc(doubts, func(d chat.Doubt) bool { return d.Kind == chat.Unsupported && d.Label == c.Label })
			if i < 0 {
				c.Spans = spans
				all = append(all, snapshot{c, doubted})
				continue
			}
			all[i].Spans = append(all[i].Spans, spans...)
			all[i].doubted = all[i].doubted || doubted
		}
		for _, c := range citations {
			seen[c.Label] += strings.Count(text, "["+c.Label+"]")
		}
	}
	if v.said != nil {
		for _, m := range v.folded.Messages {
			add(m.Text, m.Citations, m.Doubts)
		}
		return all
	}
	for _, a := range v.record.Answers {
		add(a.Text(), a.Citations, a.Doubts)
	}
	return all
}

// citations returns the citations of a turn, with the current positions of the cited words.
func (h *Handler) citations(ctx context.Context, who access.Principal, v *view) ([]citationShown, error) {
	out := []citationShown{}
	sources := sourceCache{catalog: h.cfg.Catalog, filter: retrieval.Filter{Principal: who, Namespace: v.scope.Namespace}}
	for i, c := range v.snapshots() {
		shown := citationShown{
			N: i + 1, Label: c.Label, Name: c.Name, Title: c.Title, URL: webURL(c.URL), Namespace: v.scope.Namespace, Page: c.Page,
			Kind: format.Text, Passage: v.passageOf(c.Citation), Supported: !c.doubted, Spans: []citedSpan{},
		}
		d, page, err := sources.find(ctx, c.Citation)
		if err != nil {
			return nil, err
		}
		if d.ID != "" {
			shown.DocumentID, shown.Kind = d.ID, format.ViewOf(d.MediaType)
			shown.ContentURL = h.address(wire.ContentPath(c.Label), v.scope.Namespace, nil)
		}
		for _, s := range c.Spans {
			shown.Spans = append(shown.Spans, spanNow(s, page))
		}
		shown.Stale = d.ID == "" || len(shown.Spans) > 0 &&
			!slices.ContainsFunc(shown.Spans, func(s citedSpan) bool { return !s.Stale })
		if first := slices.IndexFunc(shown.Spans, func(s citedSpan) bool { return s.Quote != "" }); first >= 0 {
			s := shown.Spans[first]
			shown.Start, shown.End, shown.Quote = s.Start, s.End, s.Quote
		}
		out = append(out, shown)
	}
	return out, nil
}

// spanNow returns a span with its words' position in the current text of the page: the old position if the
// words are still there, otherwise their first occurrence. The span is stale if there is none, or page is nil.
func spanNow(s chat.CitedSpan, page *retrieval.Page) citedSpan {
	out := citedSpan{Occurrence: s.Occurrence, Quote: s.Quote, Supported: !s.Doubted}
	if s.Quote == "" {
		out.Stale = page == nil
		return out
	}
	if page == nil {
		out.Stale = true
		return out
	}
	at := s.Start
	if at < 0 || at > len(page.Text) || !strings.HasPrefix(page.Text[at:], s.Quote) {
		if at = strings.Index(page.Text, s.Quote); at < 0 {
			out.Stale = true
			return out
		}
	}
	end := min(at+max(s.End-s.Start, len(s.Quote)), len(page.Text))
	o := offsets{page.Text}
	out.Start, out.End = o.units(at), o.units(end)
	return out
}

// passageOf returns the text of the passage that a citation points to. If the turn no longer has it, it
// returns the citation's snippet.
func (v *view) passageOf(c chat.Citation) string {
	holds := func(p retrieval.Passage) bool {
		return p.Document.Name == c.Name && slices.ContainsFunc(p.Chunk.Spans, func(s retrieval.Span) bool { return s.Page == c.Page })
	}
	all := v.folded.Retrieved.Passages
	if c.Passage >= 0 && c.Passage < len(all) && holds(all[c.Passage]) {
		return all[c.Passage].Chunk.Text
	}
	if i := slices.IndexFunc(all, holds); i >= 0 {
		return all[i].Chunk.Text
	}
	return c.Snippet
}

// sourceCache finds the documents and pages that the citations of one turn point to.
type sourceCache struct {
	catalog Catalog
	filter  retrieval.Filter
	pages   map[string]foundPage
}

type foundPage struct {
	document retrieval.Document
	page     *retrieval.Page
}

// find returns the document that a citation points to and the cited page, which is nil if the document no
// longer has it. If the caller may not see the document now, both are zero. find also tries the document's
// name, since a document that was deleted and read again has a new id.
func (c *sourceCache) find(ctx context.Context, cited chat.Citation) (retrieval.Document, *retrieval.Page, error) {
	if f, ok := c.pages[cited.Label]; ok {
		return f.document, f.page, nil
	}
	d, err := c.catalog.DocumentByID(ctx, c.filter, cited.DocumentID)
	if errors.Is(err, retrieval.ErrNotFound) {
		d, err = c.catalog.Document(ctx, c.filter, cited.Name)
	}
	if errors.Is(err, retrieval.ErrNotFound) {
		return retrieval.Document{}, nil, nil
	}
	if err != nil {
		return retrieval.Document{}, nil, fmt.Errorf("look up a cited document: %w", err)
	}
	var page *retrieval.Page
	p, _, err := c.catalog.Page(ctx, d.Revision, cited.Page)
	switch {
	case err == nil:
		page = &p
	case !errors.Is(err, retrieval.ErrNotFound):
		return d, nil, fmt.Errorf("read a cited page: %w", err)
	}
	if c.pages == nil {
		c.pages = map[string]foundPage{}
	}
	c.pages[cited.Label] = foundPage{d, page}
	return d, page, nil
}
