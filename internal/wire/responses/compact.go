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

// What a compaction keeps of a conversation, in bytes: the last messages almost as they are, the beginnings of
// those before them, and nothing of what does not fit then.
const (
	wholeMessages   = 4
	maxWholeMessage = 4 << 10
	maxGist         = 400
	maxCompaction   = 16 << 10
	maxInflated     = 128 << 10 // of the compactions that come back with one request
)

// compactItem holds a conversation in short. Its content is opaque to clients, and nothing in it is secret: it is
// what they have sent or may read.
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

// compact answers POST /v1/responses/compact. No model is called.
func (h *Handler) compact(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	x := &exchange{asker: asker{who: r.Who}}
	for _, key := range []string{"model", "previous_response_id"} {
		if v, _ := object.Get(key); isGiven(v) {
			if err := members[key](x, v); err != nil {
				return err
			}
		}
	}
	if x.res.Model == "" {
		return refusef("model", openai.Missing, `"model" must name a model; GET /v1/models lists them.`)
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

// pack returns a conversation in short.
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
	// A buffer takes everything.
	_, _ = packer.Write(mustJSON(kept))
	_ = packer.Close()
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// gistOf tells a message as text. Calls of tools and their results are told by the assistant.
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

// cut returns the beginning of a text, of at most limit bytes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// compaction adds the messages of a compaction that comes back.
func (r *reader) compaction(item wire.Object, at element) error {
	v, _ := item.Get("encrypted_content")
	content, _ := v.Text()
	gists, size, ok := unpack(content, maxInflated-r.inflated)
	if r.inflated += size; !ok {
		return refusef(at.String()+".encrypted_content", openai.Invalid, `"%v.encrypted_content" is not what POST /v1/responses/compact has returned.`, at)
	}
	for _, g := range gists {
		r.out = append(r.out, chat.TextMessage(g.Role, g.Text))
	}
	return nil
}

// unpack returns what pack has packed, if that takes no more than limit bytes, and how many it takes.
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
