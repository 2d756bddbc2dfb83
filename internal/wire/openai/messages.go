package openai

import (
	"encoding/base64"
	"iter"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// messagesOf reads the messages. The last user message is the question.
func (h *Handler) messagesOf(v wire.Value) ([]chat.Message, error) {
	const param = "messages"
	if !v.IsGiven() {
		return nil, Refusef(param, missing, `"messages" must be a list of messages.`)
	}
	elements, ok := v.Elements()
	if !ok {
		return nil, Refusef(param, invalid, `"messages" must be a list of messages.`)
	}
	count, ok := wire.AtMost(h.cfg.MaxMessages, elements)
	if !ok {
		return nil, Refusef(param, invalid, `"messages" may hold %d messages at most.`, h.cfg.MaxMessages)
	}
	messages := make([]chat.Message, 0, count)
	question := ""
	for v := range elements {
		m, err := h.messageOf(v, wire.At(param, len(messages)).String())
		if err != nil {
			return nil, err
		}
		if m.Role == llm.User {
			question = m.Text()
		}
		messages = append(messages, m)
	}
	if strings.TrimSpace(question) == "" {
		return nil, Refusef(param, invalid, `"messages" has no question: the last message with the role "user" is missing or has no text.`)
	}
	return messages, nil
}

// message has the members of a message that matter. A Value that was not sent is nil.
type message struct {
	Role         wire.Value `json:"role"`
	Content      wire.Value `json:"content"`
	Refusal      wire.Value `json:"refusal"`
	ToolCalls    wire.Value `json:"tool_calls"`
	ToolCallID   wire.Value `json:"tool_call_id"`
	FunctionCall wire.Value `json:"function_call"`
}

func (h *Handler) messageOf(v wire.Value, param string) (chat.Message, error) {
	var m message
	if !v.Read(&m) {
		return chat.Message{}, Refusef(param, invalid, "%q must be an object.", param)
	}
	role, err := m.roleOf(param)
	if err != nil {
		return chat.Message{}, err
	}
	out := chat.Message{Role: role}
	if out.ToolCalls, err = callsOf(m.ToolCalls, param); err != nil {
		return out, err
	}
	if role == llm.ToolRole {
		if out.ToolCallID, _ = m.ToolCallID.Text(); out.ToolCallID == "" {
			return out, Refusef(param+".tool_call_id", missing, `"%s.tool_call_id" must name the call that the message answers.`, param)
		}
	}
	if len(out.ToolCalls) > 0 && !m.Content.IsGiven() {
		return out, nil
	}
	out.Parts, out.Files, err = h.contentOf(&m, role, param)
	if role == llm.Assistant {
		unlink(out.Parts)
	}
	return out, err
}

// roleOf maps the roles of the API to Parley's. A developer message becomes a system message of the client, which the
// engine quotes to the model but does not trust.
func (m *message) roleOf(param string) (llm.Role, error) {
	if m.FunctionCall.IsGiven() {
		return "", Refusef(param, unsupported, `"%s.function_call" is not supported; use "tool_calls".`, param)
	}
	switch name, _ := m.Role.Text(); name {
	case "user":
		return llm.User, nil
	case "assistant":
		return llm.Assistant, nil
	case "system", "developer":
		return llm.System, nil
	case "tool":
		return llm.ToolRole, nil
	case "function":
		return "", Refusef(param+".role", unsupported, `"%s.role" cannot be "function"; use "tool" for the result of a tool.`, param)
	}
	return "", Refusef(param+".role", invalid, `"%s.role" must be "user", "assistant", "system", "developer" or "tool".`, param)
}

// contentOf reads the content of a message: a string or a list of parts. The message of an assistant that refused has a
// refusal instead.
func (h *Handler) contentOf(m *message, role llm.Role, param string) ([]llm.Part, []chat.File, error) {
	if refusal, ok := m.Refusal.Text(); ok && !m.Content.IsGiven() && role == llm.Assistant {
		return []llm.Part{{Text: refusal}}, nil, nil
	}
	param += ".content"
	if text, ok := m.Content.Text(); ok {
		return []llm.Part{{Text: text}}, nil, nil
	}
	elements, ok := m.Content.Elements()
	if !ok {
		return nil, nil, Refusef(param, invalid, "%q must be a string or a list of parts.", param)
	}
	return ReadParts(elements, param,
		func(v wire.Value, at wire.Element) (chat.File, bool, error) { return h.fileOf(v, role, at) },
		func(v wire.Value, at wire.Element) (llm.Part, error) { return h.partOf(v, role, at) })
}

// ReadParts reads a list of parts. Each text begins on a new line, because otherwise the last word of a part
// would run into the first word of the next in the message's whole text. Files are returned separately.
func ReadParts(elements iter.Seq[wire.Value], param string, fileOf func(wire.Value, wire.Element) (chat.File, bool, error),
	partOf func(wire.Value, wire.Element) (llm.Part, error)) ([]llm.Part, []chat.File, error) {
	count := 0
	for range elements {
		count++
	}
	parts, said := make([]llm.Part, 0, count), false
	var files []chat.File
	for v := range elements {
		at := wire.At(param, len(parts)+len(files))
		if f, ok, err := fileOf(v, at); ok || err != nil {
			if err != nil {
				return nil, nil, err
			}
			files = append(files, f)
			continue
		}
		p, err := partOf(v, at)
		if err != nil {
			return nil, nil, err
		}
		if said && p.Image == "" {
			p.Text = "\n" + p.Text
		}
		said = said || p.Image == ""
		parts = append(parts, p)
	}
	return parts, files, nil
}

func (h *Handler) partOf(v wire.Value, role llm.Role, at wire.Element) (llm.Part, error) {
	object, ok := v.Object()
	if !ok {
		return llm.Part{}, Refusef(at.String(), invalid, `"%v" must be an object.`, at)
	}
	kind, _ := object.Get("type")
	name, _ := kind.Text()
	switch {
	case name == "text", name == "refusal" && role == llm.Assistant:
		value, _ := object.Get(name)
		text, ok := value.Text()
		if !ok {
			return llm.Part{}, Refusef(at.String(), invalid, `"%v.%s" must be a string.`, at, name)
		}
		return llm.Part{Text: text}, nil
	case name == "image_url" && role == llm.User:
		return h.imageOf(object, at.String()+".image_url")
	case name == "input_audio", name == "file":
		return llm.Part{}, Refusef(at.String(), unsupported, `"%v" is audio or a file, which this server does not read.`, at)
	}
	return llm.Part{}, Refusef(at.String(), invalid, `"%v.type" is not allowed in a message of this role.`, at)
}

func (h *Handler) imageOf(part wire.Object, param string) (llm.Part, error) {
	value, _ := part.Get("image_url")
	image, ok := value.Object()
	if !ok {
		return llm.Part{}, Refusef(param, invalid, "%q must be an object.", param)
	}
	value, _ = image.Get("url")
	url, _ := value.Text()
	return llm.Part{Image: url}, CheckImage(url, h.cfg.Vision, param, param+".url")
}

// CheckImage returns an error for an image that the server does not accept. param is the path of the image in the request,
// and at the path of its URL. vision says whether the server's model reads images.
func CheckImage(url string, vision bool, param, at string) error {
	switch {
	case strings.HasPrefix(url, "https://"), strings.HasPrefix(url, "http://"):
		return Refusef(param, unsupported, "%q must be a data: URL: this server does not download images.", at)
	case !isImageData(url):
		return Refusef(param, invalid, "%q must be a data: URL of a PNG, JPEG, GIF or WebP image in base64.", at)
	case !vision:
		return Refusef(param, unsupported, "%q is an image, but this server's model does not accept images.", param)
	}
	return nil
}

// isImageData reports whether a URL contains an image in a format that every vision model reads.
func isImageData(url string) bool {
	for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
		if data, ok := strings.CutPrefix(url, "data:image/"+kind+";base64,"); ok {
			_, err := base64.StdEncoding.DecodeString(data)
			return err == nil && data != ""
		}
	}
	return false
}
