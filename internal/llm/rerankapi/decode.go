package rerankapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

type wireRequest struct {
	Model     string   `json:"model"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	TopN      int      `json:"top_n"`
}

type wireTEI struct {
	Query    string   `json:"query"`
	Texts    []string `json:"texts"`
	Truncate bool     `json:"truncate"`
}

type wireAnswer struct {
	Model   string       `json:"model"`
	Results []wireResult `json:"results"`
	Usage   struct {     // Jina, vLLM, llama.cpp, OpenRouter
		Total  json.Number `json:"total_tokens"`
		Prompt json.Number `json:"prompt_tokens"`
	} `json:"usage"`
	Meta struct { // Cohere
		Tokens struct {
			Input json.Number `json:"input_tokens"`
		} `json:"tokens"`
	} `json:"meta"`
	Error json.RawMessage `json:"error"`
}

type wireResult struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"`
	Score          *float64 `json:"score"` // TEI
}

// decode reads either form of an answer, regardless of the request.
func decode(body []byte, call *upstream.Call, documents int) (llm.Ranking, error) {
	var w wireAnswer
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = json.Unmarshal(body, &w.Results)
	} else {
		err = json.Unmarshal(body, &w)
	}
	if err != nil {
		return llm.Ranking{}, upstream.UndecodableAnswer(err)
	}
	if upstream.HasError(w.Error) {
		return llm.Ranking{}, call.Failed(body)
	}
	scores, err := inOrder(w.Results, documents)
	if err != nil {
		return llm.Ranking{}, &llm.Error{Err: fmt.Errorf("the upstream's answer is not usable: %w", err)}
	}
	usage := upstream.InputUsage(w.Usage.Total, w.Usage.Prompt, w.Meta.Tokens.Input)
	return llm.Ranking{Scores: scores, Model: llm.CleanName(w.Model), Usage: usage}, nil
}

// inOrder returns the scores in the order of the documents. Each document must have exactly one.
func inOrder(results []wireResult, documents int) ([]float64, error) {
	if len(results) != documents {
		return nil, fmt.Errorf("%d results for %d documents", len(results), documents)
	}
	scores := make([]float64, documents)
	seen := make([]bool, documents)
	for i, r := range results {
		score := r.RelevanceScore
		if score == nil {
			score = r.Score
		}
		if r.Index == nil || score == nil { // NaN is encoded as null
			return nil, fmt.Errorf("result %d has no index or no score", i)
		}
		if at := *r.Index; at < 0 || at >= documents || seen[at] {
			return nil, fmt.Errorf("the index %d is out of range or not the only one", at)
		}
		scores[*r.Index], seen[*r.Index] = *score, true
	}
	return scores, nil
}

// slack is the rounding error that a score outside [0, 1] may have.
const slack = 1e-3

// maxRaw limits the memory for names of models, which may come from clients.
const maxRaw = 100

// scale maps scores to [0, 1]: see the package comment.
func (p *Provider) scale(model string, scores []float64) {
	raw := false
	for _, s := range scores {
		raw = raw || s < -slack || s > 1+slack
	}
	p.mu.Lock()
	if raw && len(p.raw) < maxRaw {
		p.raw[model] = true
	}
	raw = raw || p.raw[model]
	p.mu.Unlock()
	for i, s := range scores {
		if raw {
			s = 1 / (1 + math.Exp(-s))
		}
		scores[i] = min(max(s, 0), 1)
	}
}

// classify reads an error object. Some servers put a status into it; the objects of the others say no
// more than the response's own status.
func classify(body []byte) *llm.Error {
	var w struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		return &llm.Error{}
	}
	var object struct {
		Code json.RawMessage `json:"code"` // a number, or a string with one
	}
	_ = json.Unmarshal(w.Error, &object)
	code, err := strconv.Atoi(strings.Trim(string(object.Code), `"`))
	if err != nil || code < http.StatusBadRequest || code > 599 {
		return &llm.Error{}
	}
	return upstream.StatusError(code)
}
