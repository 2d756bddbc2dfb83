package responses

import (
	"iter"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// reader converts items to messages.
type reader struct {
	readable
	out      []chat.Message
	inflated int // bytes of the unpacked compactions so far
}

// kinds maps the types of items to the functions that read them. Items that the model does not need are
// skipped: reasoning, the items of tools that a server ran itself, and the extensions of particular
// servers, whose types contain a colon and are not listed here.
var kinds = map[string]func(r *reader, item wire.Object, at wire.Element) error{
	messageType:             (*reader).message,
	"function_call":         (*reader).call,
	"function_call_output":  (*reader).output,
	"compaction":            (*reader).compaction,
	"compaction_summary":    (*reader).compaction,
	"reasoning":             skip,
	fileSearchItem:          skip,
	"web_search_call":       skip,
	"code_interpreter_call": skip,
	"image_generation_call": skip,
	"mcp_list_tools":        skip,
	"mcp_call":              skip,
}

func skip(*reader, wire.Object, wire.Element) error { return nil }

// readable says what messages may contain besides text.
type readable struct{ vision, files bool }

func (h *Handler) readable() readable { return readable{h.cfg.Vision, h.cfg.Give != nil} }

// messagesOf converts items to messages. param names the list of items in errors.
func messagesOf(items []wire.Value, param string, may readable) ([]chat.Message, error) {
	r := &reader{readable: may, out: make([]chat.Message, 0, len(items))}
	for i, v := range items {
		at := wire.At(param, i)
		item, ok := v.Object()
		if !ok {
			return nil, openai.Refusef(at.String(), openai.Invalid, `"%v" must be an object.`, at)
		}
		kind, err := kindOf(item, at)
		if err != nil {
			return nil, err
		}
		read, known := kinds[kind]
		switch {
		case strings.Contains(kind, ":"):
			continue
		case !known:
			return nil, openai.Refusef(at.String()+".type", openai.UnsupportedValue,
				`"%v.type" must be "message", "function_call", "function_call_output", "reasoning", "compaction" or "item_reference".`, at)
		}
		if err := read(r, item, at); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// kindOf returns the type of an item, which messages may omit.
func kindOf(item wire.Object, at wire.Element) (string, error) {
	kind, _ := item.Get("type")
	if kind.IsGiven() {
		return textOf(kind, at.String()+".type")
	}
	if _, ok := item.Get("role"); ok {
		return messageType, nil
	}
	return referenceType, nil
}

func (r *reader) message(item wire.Object, at wire.Element) error {
	v, _ := item.Get("role")
	role, err := roleOf(v, at)
	if err != nil {
		return err
	}
	m := chat.Message{Role: role}
	content, _ := item.Get("content")
	if text, ok := content.Text(); ok {
		m.Parts = []llm.Part{{Text: text}}
	} else if elements, ok := content.Elements(); ok {
		if m.Parts, m.Files, err = r.parts(elements, role, at.String()+".content"); err != nil {
			return err
		}
	} else {
		return openai.Refusef(at.String()+".content", openai.Invalid, `"%v.content" must be a string or a list of parts.`, at)
	}
	r.out = append(r.out, m)
	return nil
}

// roleOf maps the roles of the API to Parley's. A developer message becomes a client's system message, to
// which the engine gives the lowest trust.
func roleOf(v wire.Value, at wire.Element) (llm.Role, error) {
	switch name, _ := v.Text(); name {
	case "user":
		return llm.User, nil
	case "assistant":
		return llm.Assistant, nil
	case "system", "developer":
		return llm.System, nil
	}
	return "", openai.Refusef(at.String()+".role", openai.Invalid, `"%v.role" must be "user", "assistant", "system" or "developer".`, at)
}

// parts reads a list of content parts. param names it in errors.
func (r *reader) parts(elements iter.Seq[wire.Value], role llm.Role, param string) ([]llm.Part, []chat.File, error) {
	return openai.ReadParts(elements, param, func(v wire.Value, at wire.Element) (f chat.File, ok bool, err error) {
		if part, _ := v.Object(); r.files && role == llm.User && isFile(part) {
			f, err = openai.FileOf(part, at.String())
			return f, true, err
		}
		return f, false, nil
	}, func(v wire.Value, at wire.Element) (llm.Part, error) { return r.part(v, role, at) })
}

func isFile(part wire.Object) bool {
	kind, _ := part.Get("type")
	name, _ := kind.Text()
	return name == "input_file"
}

// texts maps the type of a part to the member that contains its text.
var texts = map[string]string{
	"input_text": "text", textType: "text", "text": "text", "summary_text": "text", "refusal": "refusal",
}

// unread maps the types of parts that are refused to what the error calls them. part and parts read the images and files
// that the server accepts.
var unread = map[string]string{
	"input_file": "files here", "input_image": "images outside user messages", "input_audio": "audio", "input_video": "video",
}

func (r *reader) part(v wire.Value, role llm.Role, at wire.Element) (llm.Part, error) {
	part, ok := v.Object()
	if !ok {
		return llm.Part{}, openai.Refusef(at.String(), openai.Invalid, `"%v" must be an object.`, at)
	}
	kind, _ := part.Get("type")
	name, _ := kind.Text()
	if member, ok := texts[name]; ok && (name != "refusal" || role == llm.Assistant) {
		value, _ := part.Get(member)
		text, err := textOf(value, at.String()+"."+member)
		return llm.Part{Text: text}, err
	}
	if name == "input_image" && role == llm.User {
		return r.image(part, at)
	}
	if kind, ok := unread[name]; ok {
		return llm.Part{}, openai.Refusef(at.String(), openai.Unsupported, `"%v" cannot be read: this server does not accept %s.`, at, kind)
	}
	return llm.Part{}, openai.Refusef(at.String()+".type", openai.Invalid, `"%v.type" is not allowed in a message of this role.`, at)
}

func (r *reader) image(part wire.Object, at wire.Element) (llm.Part, error) {
	v, _ := part.Get("image_url")
	if !v.IsGiven() {
		return llm.Part{}, openai.Refusef(at.String(), openai.Unsupported, `"%v" must have an "image_url": this server does not read images by "file_id".`, at)
	}
	url, err := textOf(v, at.String()+".image_url")
	if err != nil {
		return llm.Part{}, err
	}
	name := at.String() + ".image_url"
	return llm.Part{Image: url}, openai.CheckImage(url, r.vision, name, name)
}

// call adds a tool call to the preceding message if that is an assistant message, otherwise to a new
// assistant message.
func (r *reader) call(item wire.Object, at wire.Element) error {
	var c llm.ToolCall
	for member, field := range map[string]*string{"call_id": &c.ID, "name": &c.Name, "arguments": &c.Arguments} {
		v, _ := item.Get(member)
		var ok bool
		if *field, ok = v.Text(); !ok {
			return openai.Refusef(at.String(), openai.Invalid, `"%v" must be a function call with the strings "call_id", "name" and "arguments".`, at)
		}
	}
	more, _ := item.Get("extra_content")
	c.Signature = openai.SignatureOf(more)
	if n := len(r.out); n == 0 || r.out[n-1].Role != llm.Assistant {
		r.out = append(r.out, chat.Message{Role: llm.Assistant})
	}
	last := &r.out[len(r.out)-1]
	last.ToolCalls = append(last.ToolCalls, c)
	return nil
}

// output adds the result of a tool call.
func (r *reader) output(item wire.Object, at wire.Element) error {
	v, _ := item.Get("call_id")
	id, ok := v.Text()
	if !ok || id == "" {
		return openai.Refusef(at.String()+".call_id", openai.Missing, `"%v.call_id" must name the call that the output belongs to.`, at)
	}
	m := chat.Message{Role: llm.ToolRole, ToolCallID: id}
	output, _ := item.Get("output")
	if text, ok := output.Text(); ok {
		m.Parts = []llm.Part{{Text: text}}
	} else if elements, ok := output.Elements(); ok {
		var err error
		if m.Parts, _, err = r.parts(elements, llm.ToolRole, at.String()+".output"); err != nil {
			return err
		}
	} else {
		return openai.Refusef(at.String()+".output", openai.Invalid, `"%v.output" must be a string or a list of parts.`, at)
	}
	r.out = append(r.out, m)
	return nil
}

// checkQuestion refuses a conversation whose last user message is missing or has no text.
func checkQuestion(messages []chat.Message) error {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.User {
			if strings.TrimSpace(m.Text()) != "" {
				return nil
			}
			break
		}
	}
	return openai.Refusef("input", openai.Invalid, `"input" has no question: the last message with the role "user" is missing or has no text.`)
}
