package responses

import (
	"net/http"

	"parley/internal/tokens"
	"parley/internal/wire"
)

// messageTokens is the approximate number of tokens that each message adds to its text.
const messageTokens = 4

// maxCounted is the number of bytes of a text whose tokens are counted. The rest is assumed to have as many tokens per
// byte.
const maxCounted = 64 << 10

// countTokens returns the approximate number of tokens of a text.
func countTokens(text string) int {
	if len(text) <= maxCounted {
		return tokens.Count(text)
	}
	return tokens.Count(text[:maxCounted]) * len(text) / maxCounted
}

// countInput handles POST /v1/responses/input_tokens. It estimates the tokens of the request's messages, of the
// conversation that it continues, and of its tools. It does not count the passages that an answer would retrieve.
func (h *Handler) countInput(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	x, err := h.decode(r.Context(), object, asker{who: r.Who, base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}, nil)
	if err != nil {
		return err
	}
	n := 0
	for _, m := range x.req.Messages {
		n += messageTokens + countTokens(m.Text())
	}
	for _, tool := range x.res.Tools {
		n += countTokens(string(tool))
	}
	return wire.Reply(w, http.StatusOK, struct {
		Object string `json:"object"`
		Input  int    `json:"input_tokens"`
	}{"response.input_tokens", n})
}
