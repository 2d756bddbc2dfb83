package openai

import (
	"slices"
	"strconv"

	"parley/internal/llm"
	"parley/internal/wire"
)

// maxTools is OpenAI's limit on tools in a request, and on calls in a message.
const maxTools = 128

// readTools reads the functions that the client can run. The engine checks whether models accept them.
func (x *exchange) readTools(v wire.Value) error {
	elements, ok := v.Elements()
	if !ok {
		return Refusef("tools", invalid, `"tools" must be a list of tools.`)
	}
	for v := range elements {
		at := wire.At("tools", len(x.req.Options.Tools))
		if at.Index == maxTools {
			return Refusef("tools", invalid, `"tools" may hold %d tools at most.`, maxTools)
		}
		tool, err := toolOf(v, at)
		if err != nil {
			return err
		}
		x.req.Options.Tools = append(x.req.Options.Tools, tool)
	}
	return nil
}

func toolOf(v wire.Value, at wire.Element) (llm.Tool, error) {
	object, ok := v.Object()
	if !ok {
		return llm.Tool{}, Refusef(at.String(), invalid, `"%v" must be an object.`, at)
	}
	kind, _ := object.Get("type")
	if name, _ := kind.Text(); name != "function" {
		return llm.Tool{}, Refusef(at.String()+".type", unsupportedValue, `"%v.type" must be "function".`, at)
	}
	value, _ := object.Get("function")
	function, ok := value.Object()
	if !ok {
		return llm.Tool{}, Refusef(at.String()+".function", invalid, `"%v.function" must be an object.`, at)
	}
	var tool llm.Tool
	for key, v := range function.Members() {
		ok, want := true, "a string"
		switch {
		case v.IsNull():
		case key == "name":
			tool.Name, ok = v.Text()
		case key == "description":
			tool.Description, ok = v.Text()
		case key == "parameters":
			want = "an object"
			if _, ok = v.Object(); ok {
				tool.Parameters = v.Compact()
			}
		}
		if !ok {
			return tool, Refusef(at.String()+".function."+key, invalid, `"%v.function.%s" must be %s.`, at, key, want)
		}
	}
	if tool.Name == "" {
		return tool, Refusef(at.String()+".function.name", missing, `"%v.function.name" must name the function.`, at)
	}
	return tool, nil
}

const (
	choiceParam = "tool_choice"
	choiceForms = `"tool_choice" must be "none", "auto", "required", {"type":"function"} with the name of one, or {"type":"allowed_tools"}.`
)

// readToolChoice reads a word, or an object that names a function or the allowed tools.
func (x *exchange) readToolChoice(v wire.Value) error {
	if word, ok := v.Text(); ok {
		return x.readToolWord(word)
	}
	choice, _ := v.Object()
	kind, _ := choice.Get("type")
	switch word, _ := kind.Text(); word {
	case "function":
		name, err := functionName(choice, choiceParam)
		x.req.Options.ToolChoice = name
		return err
	case "allowed_tools":
		value, _ := choice.Get(word)
		allowed, _ := value.Object()
		return x.readAllowedTools(allowed)
	}
	return Refusef(choiceParam, unsupportedValue, choiceForms)
}

func (x *exchange) readToolWord(word string) error {
	switch word {
	case "auto":
		word = ""
	case llm.ToolsNone, llm.ToolsRequired:
	default:
		return Refusef(choiceParam, invalid, `"tool_choice" must be "none", "auto", "required" or an object.`)
	}
	x.req.Options.ToolChoice = word
	return nil
}

// readAllowedTools reads which of the tools the model may call; offerAllowed removes the others.
func (x *exchange) readAllowedTools(allowed wire.Object) error {
	const param = choiceParam + ".allowed_tools"
	mode, _ := allowed.Get("mode")
	switch word, _ := mode.Text(); word {
	case "auto":
		x.req.Options.ToolChoice = ""
	case llm.ToolsRequired:
		x.req.Options.ToolChoice = word
	default:
		return Refusef(choiceParam, invalid, `"tool_choice.allowed_tools.mode" must be "auto" or "required".`)
	}
	list, _ := allowed.Get("tools")
	elements, ok := list.Elements()
	if !ok {
		return Refusef(param+".tools", missing, `"tool_choice.allowed_tools.tools" must be a list of tools.`)
	}
	x.allowed = []string{}
	for v := range elements {
		at := wire.At(param+".tools", len(x.allowed))
		tool, _ := v.Object()
		name, err := functionName(tool, at.String())
		if err != nil {
			return err
		}
		if at.Index == maxTools {
			return Refusef(param+".tools", invalid, `"tool_choice.allowed_tools.tools" may hold %d tools at most.`, maxTools)
		}
		x.allowed = append(x.allowed, name)
	}
	return nil
}

// functionName returns the name in {"function":{"name":…}}; param is the path of the object in the request.
func functionName(object wire.Object, param string) (string, error) {
	value, _ := object.Get("function")
	function, _ := value.Object()
	value, _ = function.Get("name")
	name, ok := value.Text()
	if !ok || name == "" {
		return "", Refusef(param+".function.name", missing, `"%s.function.name" must name a function.`, param)
	}
	return name, nil
}

// offerAllowed removes the tools that "tool_choice" does not allow, if that has a list of allowed tools. The error is for an
// allowed tool that does not exist.
func (x *exchange) offerAllowed() error {
	if x.allowed == nil {
		return nil
	}
	o := &x.req.Options
	for i, name := range x.allowed {
		if !slices.ContainsFunc(o.Tools, func(t llm.Tool) bool { return t.Name == name }) {
			at := wire.At(choiceParam+".allowed_tools.tools", i).String()
			return Refusef(at, invalid, `%q must name one of "tools".`, at)
		}
	}
	o.Tools = slices.DeleteFunc(o.Tools, func(t llm.Tool) bool { return !slices.Contains(x.allowed, t.Name) })
	return nil
}

func (x *exchange) readParallel(v wire.Value) error {
	parallel, err := boolOf(v, "parallel_tool_calls")
	x.req.Options.OneTool = !parallel
	return err
}

// readFunctions and readFunctionCall refuse the former names of "tools" and "tool_choice".
func (x *exchange) readFunctions(v wire.Value) error {
	if isEmptyList(v) {
		return nil
	}
	return Refusef("functions", unsupported, `"functions" is not supported; use "tools".`)
}

func (x *exchange) readFunctionCall(v wire.Value) error {
	if choice, _ := v.Text(); choice == "none" || choice == "auto" {
		return nil
	}
	return Refusef("function_call", unsupported, `"function_call" is not supported; use "tool_choice".`)
}

// callsOf reads the tool calls of an assistant's message.
func callsOf(v wire.Value, param string) ([]llm.ToolCall, error) {
	if !v.IsGiven() {
		return nil, nil
	}
	param += ".tool_calls"
	elements, ok := v.Elements()
	if !ok {
		return nil, Refusef(param, invalid, "%q must be a list of calls.", param)
	}
	var calls []llm.ToolCall
	for v := range elements {
		at := wire.At(param, len(calls))
		if at.Index == maxTools {
			return nil, Refusef(param, invalid, "%q may hold %d calls at most.", param, maxTools)
		}
		call, ok := callOf(v)
		if !ok {
			return nil, Refusef(at.String(), invalid, `"%v" must be the call of a function, with "id" and "function" {"name", "arguments"}.`, at)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func callOf(v wire.Value) (call llm.ToolCall, ok bool) {
	var w struct {
		Type  wire.Value `json:"type"`
		Extra wire.Value `json:"extra_content"`
	}
	v.Read(&w)
	if name, _ := w.Type.Text(); w.Type.IsGiven() && name != "function" {
		return call, false
	}
	call, ok = CallOf(v)
	call.Signature = SignatureOf(w.Extra)
	return call, ok
}

// CallOf reads the call of a function, {"id":…,"function":{"name":…,"arguments":…}}, and reports whether v is one.
func CallOf(v wire.Value) (call llm.ToolCall, ok bool) {
	var w struct {
		ID       wire.Value `json:"id"`
		Function wire.Value `json:"function"`
	}
	var function struct {
		Name      wire.Value `json:"name"`
		Arguments wire.Value `json:"arguments"`
	}
	v.Read(&w)
	w.Function.Read(&function)
	var named, argued, identified bool
	call.ID, identified = w.ID.Text()
	call.Name, named = function.Name.Text()
	call.Arguments, argued = function.Arguments.Text()
	return call, identified && named && argued
}

// SignatureOf returns the signature that some providers require back with a call, or "". Clients return it in
// extra_content, which Google's own compatible API uses too: {"parley":{"signature":"…"}}.
func SignatureOf(extra wire.Value) string {
	members, _ := extra.Object()
	value, _ := members.Get("parley")
	own, _ := value.Object()
	value, _ = own.Get("signature")
	signature, _ := value.Text()
	return signature
}

// appendCall appends a call. In a stream it includes the index of the call in the message.
func appendCall(dst []byte, index int, streamed bool, c llm.ToolCall) []byte {
	dst = append(dst, '{')
	if streamed {
		dst = append(strconv.AppendInt(append(dst, `"index":`...), int64(index), 10), ',')
	}
	dst = wire.AppendString(append(dst, `"id":`...), c.ID)
	dst = wire.AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
	dst = wire.AppendString(append(dst, `,"arguments":`...), c.Arguments)
	dst = append(dst, '}')
	if c.Signature != "" {
		dst = wire.AppendString(append(dst, `,"extra_content":{"parley":{"signature":`...), c.Signature)
		dst = append(dst, `}}`...)
	}
	return append(dst, '}')
}

func appendCalls(dst []byte, calls []llm.ToolCall) []byte {
	dst = append(dst, '[')
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCall(dst, i, false, c)
	}
	return append(dst, ']')
}
