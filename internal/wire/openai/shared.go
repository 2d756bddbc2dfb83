package openai

import (
	"net/http"

	"parley/internal/llm"
	"parley/internal/wire"
)

// Complete answers POST /v1/chat/completions, for equivalent routes of other APIs.
func (h *Handler) Complete(w http.ResponseWriter, r *wire.Request) error { return h.complete(w, r) }

// AppendError appends an error object, for other APIs that use this API's shapes.
func AppendError(dst []byte, err error) []byte { return appendError(dst, err) }

// AppendUsage appends a usage object.
func AppendUsage(dst []byte, u llm.Usage) []byte { return appendUsage(dst, u) }

// ReasonOf returns the finish_reason for the reason why an answer ended.
func ReasonOf(reason string) string { return reasonOf(reason) }
