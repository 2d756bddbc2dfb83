package openai

import (
	"net/http"

	"parley/internal/llm"
	"parley/internal/wire"
)

// Complete answers POST /v1/chat/completions, for routes of other APIs that mean the same.
func (h *Handler) Complete(w http.ResponseWriter, r *wire.Request) error { return h.complete(w, r) }

// AppendError appends an error object, for other APIs with the shapes of this one.
func AppendError(dst []byte, err error) []byte { return appendError(dst, err) }

// AppendUsage appends a usage object.
func AppendUsage(dst []byte, u llm.Usage) []byte { return appendUsage(dst, u) }

// ReasonOf returns why an answer ended, as the API knows it.
func ReasonOf(reason string) string { return reasonOf(reason) }
