package responses

import (
	"net/http"

	"parley/internal/tokens"
	"parley/internal/wire"
)

// messageTokens is the number of tokens that the frame of a message adds to its text.
const messageTokens = 4

// maxCounted is the number of bytes of a text that are counted; the rest is assumed to have as many tokens per byte.
const maxCounted = 64 << 10

// countTokens returns about how many tokens a text has.
func countTokens(text string) int {
	if len(text) <= maxCounted {
		return tokens.Count(text)
	}
	return tokens.Count(text[:maxCounted]) * len(text) / maxCounted
}

// countInput handles POST /v1/responses/input_tokens: about how many tokens the messages of a request have, with those
// that it continues. What is retrieved for the answer is not known yet.
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
