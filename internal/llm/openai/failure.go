package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/llm"
)

// classify reads an error object from a response body or an event.
func classify(body []byte) *llm.Error {
	var w struct {
		Error struct {
			Type  string          `json:"type"`
			Code  json.RawMessage `json:"code"` // a string, or a number on some servers
			Inner struct {
				Code string `json:"code"`
			} `json:"innererror"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		return &llm.Error{}
	}
	code := strings.Trim(string(w.Error.Code), `"`)
	e := &llm.Error{Filtered: code == "content_filter" || w.Error.Inner.Code == "ResponsibleAIPolicyViolation"}
	e.Miscalled = code == "tool_use_failed" // Groq
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		e.Status = n
	}
	if code == "rate_limit_exceeded" || w.Error.Type == "rate_limit_error" {
		e.Status = http.StatusTooManyRequests
	}
	e.Retryable = !e.Filtered && (e.Status == http.StatusTooManyRequests || e.Status >= 500 ||
		w.Error.Type == "server_error" || w.Error.Type == "overloaded_error")
	return e
}
