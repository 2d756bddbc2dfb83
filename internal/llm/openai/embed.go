package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// OwnEmbedLimits are the limits of one call of embeddings at OpenAI and Azure.
// https://platform.openai.com/docs/api-reference/embeddings/create
var OwnEmbedLimits = llm.EmbedLimits{Texts: 2048, Tokens: 300_000, TextTokens: 8191}

// EmbedLimits implements llm.EmbedLimiter.
func (p *Provider) EmbedLimits(string) llm.EmbedLimits { return p.cfg.EmbedLimits }

type wireEmbed struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format,omitempty"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// Embed implements llm.Embedder with POST {base}/embeddings. It asks for vectors in base64, like
// OpenAI's own clients, and also accepts decimals, because some servers know nothing else. After a
// server refuses the format, it is no longer requested.
func (p *Provider) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	w := wireEmbed{Model: llm.CleanName(req.Model), Input: upstream.Prefixed(req), Dimensions: req.Dimensions}
	if !p.decimal.Load() {
		w.EncodingFormat = "base64"
	}
	out, err := p.embed(ctx, w)
	if w.EncodingFormat == "" || !refusesFormat(err) {
		return out, err
	}
	w.EncodingFormat = ""
	if out, err = p.embed(ctx, w); err == nil {
		p.decimal.Store(true)
	}
	return out, err
}

func refusesFormat(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) &&
		strings.Contains(e.Error(), "encoding_format")
}

func (p *Provider) embed(ctx context.Context, w wireEmbed) (llm.Embeddings, error) {
	path, err := p.cfg.EmbeddingsPath(w.Model)
	if err != nil {
		return llm.Embeddings{}, err
	}
	call, err := p.call(ctx, path)
	if err != nil {
		return llm.Embeddings{}, err
	}
	body, err := p.client.PostTexts(ctx, call, w, len(w.Input))
	if err != nil {
		return llm.Embeddings{}, err
	}
	return decodeEmbeddings(body, &call)
}

type wireVector struct {
	Index     *int            `json:"index"` // nil if the server omits it
	Embedding upstream.Vector `json:"embedding"`
}

func decodeEmbeddings(body []byte, call *upstream.Call) (llm.Embeddings, error) {
	var w struct {
		Model string          `json:"model"`
		Data  []wireVector    `json:"data"`
		Usage wireEmbedUsage  `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return llm.Embeddings{}, upstream.UndecodableAnswer(err)
	}
	if upstream.HasError(w.Error) {
		return llm.Embeddings{}, call.Failed(body)
	}
	vectors, err := inOrder(w.Data)
	if err != nil {
		return llm.Embeddings{}, err
	}
	return llm.Embeddings{Vectors: vectors, Model: llm.CleanName(w.Model), Usage: w.Usage.usage()}, nil
}

// inOrder sorts vectors by their indexes. A list without indexes is in order.
func inOrder(list []wireVector) ([][]float32, error) {
	vectors := make([][]float32, len(list))
	for i, v := range list {
		at := i
		if v.Index != nil {
			at = *v.Index
		}
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			return nil, &llm.Error{Err: fmt.Errorf("the upstream's answer is not usable: the index %d of a vector is out of range or not the only one", at)}
		}
		vectors[at] = v.Embedding
	}
	return vectors, nil
}

// wireEmbedUsage counts tokens; compatible servers may omit either number, or both.
type wireEmbedUsage struct {
	Prompt json.Number `json:"prompt_tokens"`
	Total  json.Number `json:"total_tokens"`
}

// usage is zero if the upstream reported no plausible one.
func (w wireEmbedUsage) usage() llm.Usage { return upstream.InputUsage(w.Prompt, w.Total) }
