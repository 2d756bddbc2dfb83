package responses

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// The limits of a compaction, in bytes unless noted. It keeps the last few messages nearly whole, the
// beginnings of earlier messages, and no messages beyond maxCompaction.
const (
	wholeMessages   = 4         // number of last messages to which maxWholeMessage applies
	maxWholeMessage = 4 << 10   // of each of the last messages
	maxGist         = 400       // of each earlier message
	maxCompaction   = 16 << 10  // of all messages together
	maxInflated     = 128 << 10 // of the unpacked compactions in one request
)

// compactItem contains a shortened conversation. Its content is encoded but not secret: the client has
// sent it or may read it.
type compactItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Content string `json:"encrypted_content"`
}

// gist is one message of a compaction.
type gist struct {
	Role llm.Role `json:"r"`
	Text string   `json:"t"`
}

// compact handles POST /v1/responses/compact. It calls no model.
func (h *Handler) compact(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	x := &exchange{asker: asker{who: r.Who}}
	for _, key := range []string{"model", "previous_response_id"} {
		if v, _ := object.Get(key); v.IsGiven() {
			if err := members[key](x, v); err != nil {
				return err
			}
		}
	}
	if x.res.Model == "" {
		return openai.Refusef("model", openai.Missing, `"model" must name a model; GET /v1/models lists them.`)
	}
	if _, err := h.catalog.NamespaceOf(r.Context(), r.Who, x.res.Model); err != nil {
		return err
	}
	given, _ := object.Get("input")
	if err := h.converse(r.Context(), x, given); err != nil {
		return err
	}
	id := h.cfg.NewID()
	return wire.Reply(w, http.StatusOK, struct {
		ID        string        `json:"id"`
		Object    string        `json:"object"`
		CreatedAt int64         `json:"created_at"`
		Output    []compactItem `json:"output"`
		Usage     *usage        `json:"usage"`
	}{
		ID: responsePrefix + id, Object: "response.compaction", CreatedAt: h.cfg.Now().Unix(),
		Output: []compactItem{{ID: compactionPrefix + id + "_0", Type: "compaction", Status: completed, Content: pack(x.req.Messages)}},
		Usage:  &usage{},
	})
}

// pack returns a shortened and encoded conversation.
func pack(messages []chat.Message) string {
	var kept []gist
	left := maxCompaction
	for i, m := range slices.Backward(messages) {
		limit := maxGist
		if len(messages)-i <= wholeMessages {
			limit = maxWholeMessage
		}
		g := gistOf(m, limit)
		if left -= len(g.Text); left < 0 {
			break
		}
		if g.Text != "" {
			kept = append(kept, g)
		}
	}
	slices.Reverse(kept)
	var b bytes.Buffer
	packer, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	// Writing to a buffer does not fail.
	_, _ = packer.Write(mustJSON(kept))
	_ = packer.Close()
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// gistOf returns a message as text of at most limit bytes. Tool calls and their results become text of
// the assistant.
func gistOf(m chat.Message, limit int) gist {
	said := m.Text()
	for _, c := range m.ToolCalls {
		said += "\nCalled " + c.Name + "(" + c.Arguments + ")."
	}
	if m.Role == llm.ToolRole {
		m.Role, said = llm.Assistant, "The call returned: "+said
	}
	return gist{Role: m.Role, Text: cut(strings.TrimSpace(said), limit)}
}

// cut returns the beginning of a text, at most limit bytes, without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// compaction adds the messages of a compaction item in the input.
func (r *reader) compaction(item wire.Object, at wire.Element) error {
	v, _ := item.Get("encrypted_content")
	content, _ := v.Text()
	gists, size, ok := unpack(content, maxInflated-r.inflated)
	if r.inflated += size; !ok {
		return openai.Refusef(at.String()+".encrypted_content", openai.Invalid,
			`"%v.encrypted_content" was not returned by POST /v1/responses/compact, or the compactions of this request are too long.`, at)
	}
	for _, g := range gists {
		r.out = append(r.out, chat.TextMessage(g.Role, g.Text))
	}
	return nil
}

// unpack returns the messages that pack encoded, and their size in bytes. ok is false if the content is
// invalid or its size exceeds limit.
func unpack(content string, limit int) (gists []gist, size int, ok bool) {
	packed, err := base64.RawURLEncoding.DecodeString(content)
	if err != nil {
		return nil, 0, false
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), int64(limit)))
	if err != nil || json.Unmarshal(raw, &gists) != nil {
		return nil, len(raw), false
	}
	for _, g := range gists {
		if g.Role != llm.User && g.Role != llm.Assistant && g.Role != llm.System {
			return nil, len(raw), false
		}
	}
	return gists, len(raw), true
}
