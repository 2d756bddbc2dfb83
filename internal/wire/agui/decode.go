package agui

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
	"parley/internal/wire"
)

// exchange is a decoded request.
type exchange struct {
	thread, run string
	stateful    bool   // the client has sent a state that is not empty, to which members are added
	base        string // URL of the server, for links
	req         chat.Request
}

// body is a RunAgentInput. A member that was not sent is nil.
type body struct {
	Thread    wire.Value `json:"threadId"`
	Run       wire.Value `json:"runId"`
	State     wire.Value `json:"state"`
	Messages  wire.Value `json:"messages"`
	Tools     wire.Value `json:"tools"`
	Context   wire.Value `json:"context"`
	Forwarded wire.Value `json:"forwardedProps"`
}

// maxID is the maximum length in bytes of an id that a client chooses.
const maxID = 256

// decode checks and decodes a request.
func (h *Handler) decode(r *wire.Request) (*exchange, error) {
	object, err := r.Object()
	if err != nil {
		return nil, err
	}
	var b body
	object.Read(&b)
	x := &exchange{base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)}
	x.req.Principal, x.req.Options = r.Who, h.cfg.Defaults
	if x.thread, err = h.idOf(b.Thread, "threadId"); err != nil {
		return nil, err
	}
	if x.run, err = h.idOf(b.Run, "runId"); err != nil {
		return nil, err
	}
	state, _ := b.State.Object()
	for range state.Members() {
		x.stateful = true
	}
	if err := h.readForwarded(r, x, b.Forwarded); err != nil {
		return nil, err
	}
	if x.req.Options.Tools, err = toolsOf(b.Tools); err != nil {
		return nil, err
	}
	told, err := contextOf(b.Context)
	if err != nil {
		return nil, err
	}
	if x.req.Messages, err = h.messagesOf(b.Messages, x.req.Options.Tools); err != nil {
		return nil, err
	}
	if told != "" {
		x.req.Messages = append([]chat.Message{chat.TextMessage(llm.System, told)}, x.req.Messages...)
	}
	x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
	return x, nil
}

// idOf returns the id that the client has sent as name, or a new one if it has sent none.
func (h *Handler) idOf(v wire.Value, name string) (string, error) {
	id, err := wire.OptionalText(v, name)
	if err == nil && len(id) > maxID {
		return "", wire.Invalidf("%q must be a string of %d bytes at most", name, maxID)
	}
	if err == nil && id == "" {
		id = h.cfg.NewID()
	}
	return id, err
}

// readForwarded reads forwardedProps.parley: the namespace and options of the turn. It ignores other forwarded
// members, which are for other agents.
func (h *Handler) readForwarded(r *wire.Request, x *exchange, v wire.Value) error {
	x.req.Namespace = h.cfg.Namespace
	all, _ := v.Object()
	own, sent := all.Get("parley")
	if !sent || own.IsNull() {
		return nil
	}
	object, ok := own.Object()
	if !ok {
		return wire.Invalidf(`"forwardedProps.parley" must be an object`)
	}
	if err := wire.SetOptions(&x.req.Options, object, wire.PageOptions); err != nil {
		return err
	}
	named, _ := object.Get("namespace")
	namespace, err := wire.OptionalText(named, "forwardedProps.parley.namespace")
	if err != nil || namespace == "" {
		return err
	}
	x.req.Namespace, err = h.catalog.NamespaceOf(r.Context(), r.Who, "parley/"+namespace)
	return err
}

// toolsOf reads the tools that the page runs.
func toolsOf(v wire.Value) ([]llm.Tool, error) {
	const most = 128
	elements, ok := v.Elements()
	if !ok && v.IsGiven() {
		return nil, wire.Invalidf(`"tools" must be a list of tools`)
	}
	if _, ok := wire.AtMost(most, elements); !ok {
		return nil, wire.Invalidf(`"tools" may hold %d tools at most`, most)
	}
	var tools []llm.Tool
	for v := range elements {
		at := fmt.Sprintf("tools[%d]", len(tools))
		var w struct {
			Name        wire.Value `json:"name"`
			Description wire.Value `json:"description"`
			Parameters  wire.Value `json:"parameters"`
		}
		if !v.Read(&w) {
			return nil, wire.Invalidf("%q must be an object", at)
		}
		var tool llm.Tool
		var err error
		if tool.Name, err = wire.OptionalText(w.Name, at+".name"); err != nil {
			return nil, err
		}
		if tool.Description, err = wire.OptionalText(w.Description, at+".description"); err != nil {
			return nil, err
		}
		if w.Parameters.IsGiven() {
			if tool.Parameters, err = parametersOf(w.Parameters, at); err != nil {
				return nil, err
			}
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// parametersOf reads a JSON Schema, which some clients send as a string.
func parametersOf(v wire.Value, at string) (json.RawMessage, error) {
	if s, ok := v.Text(); ok {
		if _, err := wire.ParseObject([]byte(s)); err == nil {
			return wire.Value(strings.TrimSpace(s)).Compact(), nil
		}
	}
	if _, ok := v.Object(); !ok {
		return nil, wire.Invalidf(`"%s.parameters" must be a JSON Schema`, at)
	}
	return v.Compact(), nil
}

// contextOf returns the context that the page gives its agents as one text, "description: value" a line.
func contextOf(v wire.Value) (string, error) {
	elements, ok := v.Elements()
	if !ok && v.IsGiven() {
		return "", wire.Invalidf(`"context" must be a list`)
	}
	var told strings.Builder
	i := 0
	for v := range elements {
		var w struct {
			Description wire.Value `json:"description"`
			Value       wire.Value `json:"value"`
		}
		if !v.Read(&w) {
			return "", wire.Invalidf(`"context[%d]" must be an object`, i)
		}
		about, err := wire.OptionalText(w.Description, fmt.Sprintf("context[%d].description", i))
		if err != nil {
			return "", err
		}
		said, ok := w.Value.Text()
		if !ok && w.Value != nil {
			said = string(w.Value.Compact())
		}
		fmt.Fprintf(&told, "%s: %s\n", about, said)
		i++
	}
	return strings.TrimSpace(told.String()), nil
}
