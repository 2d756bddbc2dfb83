package webapi

import (
	"slices"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// thoughts shows how a turn arrived at its answer.
type thoughts struct {
	Query     queryShown     `json:"query"`
	Retrieval retrievalShown `json:"retrieval"`
	Passages  []passageShown `json:"passages"`
	Prompt    *promptShown   `json:"prompt"`
	Tools     []toolShown    `json:"tools"`
	Reasoning string         `json:"reasoning"`
}

type queryShown struct {
	Original   string         `json:"original"`
	Query      string         `json:"query"`
	Rewritten  bool           `json:"rewritten"`
	Candidate  string         `json:"candidate"`
	Ambiguous  bool           `json:"ambiguous"`
	Confidence float64        `json:"confidence"`
	Reason     string         `json:"reason"`
	Context    []weightedTerm `json:"context"`
}

type weightedTerm struct {
	Word   string  `json:"word"`
	Weight float64 `json:"weight"`
}

type retrievalShown struct {
	Mode      retrieval.Mode `json:"mode"`
	HasVector bool           `json:"has_vector"`
	Matched   int            `json:"matched"`
	Reranked  bool           `json:"reranked"`
	Terms     []termShown    `json:"terms"`
}

type termShown struct {
	Word   string  `json:"word"`
	Weight float64 `json:"weight"`
	IDF    float64 `json:"idf"`
	Known  bool    `json:"known"`
}

type passageShown struct {
	N           int      `json:"n"`
	Label       string   `json:"label"`
	DocumentID  string   `json:"document_id"`
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Category    string   `json:"category"`
	Pages       []int    `json:"pages"`
	Headings    []string `json:"headings"`
	Text        string   `json:"text"`
	Tokens      int      `json:"tokens"`
	ContentURL  string   `json:"content_url"`
	Score       float64  `json:"score"`
	BM25        *float64 `json:"bm25"`
	Vector      *float64 `json:"vector"`
	Rerank      *float64 `json:"rerank"`
	Rank        int      `json:"rank"`
	RankBefore  int      `json:"rank_before"` // 0 if a tool found the passage
	ScoreBefore *float64 `json:"score_before"`
	Sent        bool     `json:"sent"`
}

type promptShown struct {
	Model    string          `json:"model"`
	Messages []promptMessage `json:"messages"`
}

type promptMessage struct {
	Role   llm.Role `json:"role"`
	Text   string   `json:"text"`
	Images int      `json:"images"`
}

type toolShown struct {
	Name      string       `json:"name"`
	Arguments string       `json:"arguments"`
	Text      string       `json:"text"`
	Failed    bool         `json:"failed"`
	Passages  int          `json:"passages"`
	Duration  milliseconds `json:"duration"`
}

func (v *view) thoughts() *thoughts {
	t := &v.folded
	q := t.Rewrite
	out := &thoughts{
		Query: queryShown{
			Original: q.Original, Query: q.Query, Rewritten: q.Rewritten, Candidate: q.Candidate, Ambiguous: q.Ambiguous,
			Confidence: q.Confidence, Reason: q.Reason, Context: []weightedTerm{},
		},
		Retrieval: retrievalShown{
			Mode: t.Retrieved.Mode, HasVector: t.Retrieved.HasVector, Matched: t.Retrieved.Matched, Terms: []termShown{},
			Reranked: slices.ContainsFunc(t.Stages, func(s chat.StageFinished) bool { return s.Stage == chat.StageRerank }),
		},
		Passages: []passageShown{}, Tools: []toolShown{}, Reasoning: t.Reasoning,
	}
	for _, c := range q.Context {
		out.Query.Context = append(out.Query.Context, weightedTerm(c))
	}
	for _, term := range t.Retrieved.Terms {
		out.Retrieval.Terms = append(out.Retrieval.Terms, termShown{term.Word, term.Weight, term.IDF, term.Known})
	}
	if len(t.Prompt.Messages) > 0 {
		out.Prompt = &promptShown{Model: t.Prompt.Model, Messages: []promptMessage{}}
		for _, m := range t.Prompt.Messages {
			pm := promptMessage{Role: m.Role, Text: m.Text()}
			for _, part := range m.Parts {
				if part.Image != "" {
					pm.Images++
				}
			}
			out.Prompt.Messages = append(out.Prompt.Messages, pm)
		}
	}
	for _, ran := range t.Tools {
		out.Tools = append(out.Tools, toolShown{
			Name: ran.Name, Arguments: v.calls[ran.CallID].Arguments, Text: ran.Text, Failed: ran.Failed, Passages: ran.Passages,
			Duration: milliseconds(ran.Duration),
		})
	}
	return out
}

// passages returns the retrieved passages of a turn in their final order.
func (h *Handler) passages(v *view) []passageShown {
	out := []passageShown{}
	before := map[retrieval.ChunkKey]int{}
	if v.first != nil {
		for i, p := range v.first.Passages {
			before[p.Chunk.Key] = i + 1
		}
	}
	for i, p := range v.folded.Retrieved.Passages {
		label := cite.LabelOf(&p)
		shown := passageShown{
			N: i + 1, Label: label, DocumentID: p.Document.ID, Name: p.Document.Name, Title: p.Document.Title,
			Category: p.Document.Category, Pages: []int{}, Headings: wire.ListOf(p.Chunk.Headings), Text: p.Chunk.Text, Tokens: p.Chunk.Tokens,
			ContentURL: h.address(wire.ContentPath(label), v.scope.Namespace, nil), Score: p.Score,
			BM25: p.Scores.BM25, Vector: p.Scores.Vector, Rerank: p.Scores.Rerank,
			Rank: i + 1, RankBefore: before[p.Chunk.Key], Sent: slices.Contains(v.folded.Prompt.Labels, label),
		}
		if n := shown.RankBefore; n > 0 {
			shown.ScoreBefore = &v.first.Passages[n-1].Score
		}
		for _, s := range p.Chunk.Spans {
			if s.Page > 0 && !slices.Contains(shown.Pages, s.Page) {
				shown.Pages = append(shown.Pages, s.Page)
			}
		}
		out = append(out, shown)
	}
	return out
}
