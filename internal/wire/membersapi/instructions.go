package membersapi

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/wire"
)

// Instructions stores the instructions that models get when they answer from a namespace.
type Instructions interface {
	// Of returns the instructions of a namespace, or "" if there are none.
	Of(ctx context.Context, namespace string) (string, error)
	// Put sets the instructions of a namespace; "" removes them.
	Put(ctx context.Context, namespace, body string, at time.Time) error
}

// instructionsBody holds the instructions of a namespace in requests and responses.
type instructionsBody struct {
	Text string `json:"text"`
}

// readInstructions handles GET. Everyone who may ask a namespace may read its instructions, because they shape the answers and
// are part of the prompt that the web page shows.
func (h *Handler) readInstructions(w http.ResponseWriter, r *wire.Request) error {
	name := r.PathValue("name")
	if err := CheckNamespace(name); err != nil || !r.Who.MayUse(name) {
		return errNoNamespace
	}
	text, err := h.instructions.Of(r.Context(), name)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, instructionsBody{text})
}

// putInstructions handles PUT.
func (h *Handler) putInstructions(w http.ResponseWriter, r *wire.Request) error {
	name := r.PathValue("name")
	if err := CheckNamespace(name); err != nil || !r.Who.MayUse(name) {
		return errNoNamespace
	}
	if !r.Who.MayInstruct(name) {
		return &chat.Error{Kind: chat.Forbidden, Msg: "Only an owner of the namespace or an administrator may change its instructions."}
	}
	object, err := r.Object()
	if err != nil {
		return err
	}
	given, _ := object.Get("text")
	text, ok := given.Text()
	text = strings.TrimSpace(text)
	switch {
	case !ok:
		return wire.Invalidf("expected the instructions as text; an empty text removes them")
	case len(text) > chat.MaxTemplate:
		return wire.Invalidf("the instructions of a namespace can have at most %d bytes", chat.MaxTemplate)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isOddInText):
		return wire.Invalidf("the instructions must not contain control characters")
	}
	r.Changed = "instructions"
	if text == "" {
		r.Changed = "instructions removed"
	}
	if err := h.instructions.Put(r.Context(), name, text, time.Now()); err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, instructionsBody{text})
}

func isOddInText(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }
