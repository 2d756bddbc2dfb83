package chat

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// The limits of tools and of tool calls, in requests and from models.
const (
	maxTools         = 128       // of a request, and calls in one of its messages
	maxToolBytes     = 256 << 10 // of all descriptions and parameters
	maxToolCalls     = 32        // that a model may make in one message
	maxToolArguments = 64 << 10  // bytes
	maxCallIDBytes   = 256
	maxSignature     = 16 << 10 // bytes
	maxToolName      = 64
)

// toolName matches the tool names that providers accept.
var toolName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

// checkTools checks the tools that a client offers.
func checkTools(o *Options) error {
	if len(o.Tools) > maxTools {
		return invalid("There are more than %d tools.", maxTools)
	}
	size, names := 0, map[string]bool{}
	for i, tool := range o.Tools {
		switch {
		case !toolName.MatchString(tool.Name) || tool.Name == llm.ToolsNone || tool.Name == llm.ToolsRequired:
			return invalid("The name of tool %d must be 1 to 64 letters, digits, _ or -, and not %q or %q.", i+1, llm.ToolsNone, llm.ToolsRequired)
		case names[tool.Name]:
			return invalid("There are two tools with the name %q.", tool.Name)
		case !utf8.ValidString(tool.Description):
			return invalid("The description of the tool %q is not valid UTF-8.", tool.Name)
		case tool.Parameters != nil && !isObject(tool.Parameters):
			return invalid("The parameters of the tool %q are not a JSON Schema.", tool.Name)
		}
		names[tool.Name] = true
		size += len(tool.Description) + len(tool.Parameters)
	}
	if size > maxToolBytes {
		return &Error{Kind: TooLarge, Msg: fmt.Sprintf("The tools are longer than %d bytes.", maxToolBytes)}
	}
	switch choice := o.ToolChoice; {
	case choice == "" || choice == llm.ToolsNone:
	case len(o.Tools) == 0:
		return invalid("The request requires a tool call but offers no tools.")
	case choice != llm.ToolsRequired && !names[choice]:
		return invalid("The required tool is not among the tools.")
	}
	return nil
}

// isObject reports whether a text is one JSON object.
func isObject(raw []byte) bool {
	trimmed := strings.TrimSpace(string(raw))
	return strings.HasPrefix(trimmed, "{") && json.Valid(raw)
}

// checkCalls checks that each tool result answers a call of the preceding message, and that providers
// will accept the calls.
func checkCalls(messages []Message) error {
	open := map[string]bool{} // calls of the preceding assistant message that have no result yet
	for i, m := range messages {
		if m.Role == llm.ToolRole {
			if !open[m.ToolCallID] {
				return invalid("Message %d is a tool result, but the preceding assistant message has no unanswered call with its id.", i+1)
			}
			delete(open, m.ToolCallID)
			continue
		}
		clear(open)
		if len(m.ToolCalls) > 0 && m.Role != llm.Assistant {
			return invalid("Message %d has tool calls, but only assistant messages may have them.", i+1)
		}
		if len(m.ToolCalls) > maxTools {
			return invalid("Message %d has more than %d tool calls.", i+1, maxTools)
		}
		for _, c := range m.ToolCalls {
			switch {
			case !isCallID(c.ID) || open[c.ID]:
				return invalid("Message %d has a tool call whose id is missing, invalid or used twice.", i+1)
			case !toolName.MatchString(c.Name):
				return invalid("Message %d calls a tool whose name is not 1 to 64 letters, digits, _ or -.", i+1)
			case !utf8.ValidString(c.Arguments) || len(c.Signature) > maxSignature:
				return invalid("Message %d calls a tool with arguments that are not valid.", i+1)
			}
			open[c.ID] = true
		}
	}
	return nil
}

func isCallID(id string) bool {
	return id != "" && len(id) <= maxCallIDBytes && llm.CleanName(id) == id
}

// pending returns the calls and results after the question if the messages end with the result of a
// tool, or nil. It leaves out other messages.
func pending(after []Message) []Message {
	if len(after) == 0 || after[len(after)-1].Role != llm.ToolRole {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(after), func(m Message) bool { return !ofTools(m) })
}

// checkAnswered returns an error if a call has no result yet.
func checkAnswered(pending []Message) error {
	if kept := answered(pending); len(kept) < len(pending) || slices.ContainsFunc(pending, unanswered(pending)) {
		return invalid("A tool call has no result.")
	}
	return nil
}

// unanswered returns a function that reports whether a message has calls without a result in messages.
func unanswered(messages []Message) func(Message) bool {
	results := map[string]bool{}
	for _, m := range messages {
		if m.Role == llm.ToolRole {
			results[m.ToolCallID] = true
		}
	}
	return func(m Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return !results[c.ID] })
	}
}

func ofTools(m Message) bool { return len(m.ToolCalls) > 0 || m.Role == llm.ToolRole }

// answered returns messages without incomplete tool rounds: if any call of a message has no result, because
// the user went on with something else, it removes all calls of the message and their results. It keeps the
// message's text.
func answered(messages []Message) []Message {
	out := make([]Message, 0, len(messages))
	for i := 0; i < len(messages); {
		end := i + 1
		for end < len(messages) && messages[end].Role == llm.ToolRole {
			end++
		}
		unit := messages[i:end]
		if m := unit[0]; len(m.ToolCalls) > 0 && unanswered(unit)(m) {
			if m.ToolCalls = nil; m.Text() != "" {
				m.Tokens = 0
				out = append(out, m)
			}
		} else {
			out = append(out, unit...)
		}
		i = end
	}
	return out
}

// toolTokens returns the number of tokens of the tools, and of the calls and results after the question.
func (t *turn) toolTokens() int {
	sum := 0
	for _, tool := range slices.Concat(t.req.Options.Tools, t.offer()) {
		sum += t.count(tool.Name) + t.count(tool.Description) + t.count(string(tool.Parameters))
	}
	for i := range t.pending {
		sum += t.tokens(&t.pending[i])
	}
	return sum
}

// call handles the calls of a completion. It keeps calls of server tools for useTools; the result of an
// invalid one tells the model what is wrong. It emits valid calls of a client's tools, and drops invalid
// ones, which the client would otherwise run and store.
func (a *answer) call(calls []llm.ToolCall) error {
	for _, c := range calls {
		most := maxToolCalls
		if a.req.Options.OneTool {
			most = 1
		}
		if len(a.done.ToolCalls)+len(a.wanted) == most {
			a.refused++
			continue
		}
		fault := a.fault(&c)
		if len(a.offered) > 0 {
			a.want(c, fault)
			continue
		}
		if fault != "" {
			a.refused, a.refusal = a.refused+1, fault
			continue
		}
		a.identify(&c)
		a.done.ToolCalls = append(a.done.ToolCalls, c)
		if err := a.out.emit(ToolCalled{ID: a.done.ID, Call: c}); err != nil {
			return err
		}
	}
	return nil
}

// fault returns what is wrong with a call, in sentences for the model, or "". It changes empty arguments to
// "{}".
func (a *answer) fault(c *llm.ToolCall) string {
	tools := a.tools()
	i := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == c.Name })
	if i < 0 || a.req.Options.ToolChoice == llm.ToolsNone || a.model.grounded {
		return a.noSuchTool(c.Name, tools)
	}
	if strings.TrimSpace(c.Arguments) == "" {
		c.Arguments = "{}"
	}
	switch {
	case len(c.Arguments) > maxToolArguments || len(c.Signature) > maxSignature:
		return fmt.Sprintf("The arguments of %s are longer than %d bytes. Call it with shorter ones.", c.Name, maxToolArguments)
	case !isObject([]byte(c.Arguments)) || !utf8.ValidString(c.Arguments):
		said := fmt.Sprintf("The arguments of %s are not one JSON object.", c.Name)
		if schema := tools[i].Parameters; len(schema) > 0 && len(schema) <= maxSchemaTold {
			said += " They have to follow this JSON Schema: " + string(schema)
		}
		return said
	}
	return ""
}

// maxSchemaTold is the size in bytes of the largest schema that is repeated to a model that violated it.
const maxSchemaTold = 4 << 10

func (a *answer) noSuchTool(name string, tools []llm.Tool) string {
	said := "There is no tool with this name."
	if name == "" {
		said = "Your tool call cannot be read."
	} else if toolName.MatchString(name) {
		said = fmt.Sprintf("There is no tool %s.", name)
	}
	if len(tools) == 0 || a.req.Options.ToolChoice == llm.ToolsNone {
		return said + " No tools can be called. Answer without them."
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return said + " The tools are: " + strings.Join(names, ", ") + "."
}

// want keeps a call for useTools. It changes an invalid call to a form that every provider accepts back,
// so that the model can be told what was wrong with it.
func (a *answer) want(c llm.ToolCall, fault string) {
	if fault != "" {
		c.Name = presentable(c.Name)
		if len(c.Arguments) > maxToolArguments || !isObject([]byte(c.Arguments)) || !utf8.ValidString(c.Arguments) {
			c.Arguments = "{}"
		}
		if len(c.Signature) > maxSignature {
			c.Signature = ""
		}
	}
	a.identify(&c)
	if a.wanted = append(a.wanted, c); fault == "" {
		return
	}
	if a.faults == nil {
		a.faults = map[string]string{}
	}
	a.faults[c.ID] = fault
}

// presentable returns name, changed to a valid tool name if it is not one.
func presentable(name string) string {
	if toolName.MatchString(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if !toolName.MatchString(string(r)) {
			return '_'
		}
		return r
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxToolName)]
}

// identify gives a call a new id if its own is missing, invalid or taken.
func (a *answer) identify(c *llm.ToolCall) {
	taken := slices.ContainsFunc(slices.Concat(a.done.ToolCalls, a.wanted), func(have llm.ToolCall) bool { return have.ID == c.ID })
	if taken || !isCallID(c.ID) {
		c.ID = "call_" + rand.Text() // OpenAI accepts at most 40 characters
	}
}

// settleCalls makes the finish reason fit the calls that were kept. It returns an error if the model made
// only invalid calls and wrote no text.
func (a *answer) settleCalls() error {
	if len(a.done.ToolCalls) > 0 {
		a.done.FinishReason = "tool_calls"
		return nil
	}
	if a.done.FinishReason == "tool_calls" {
		a.done.FinishReason = "stop"
	}
	if a.refused > 0 && a.text.Len() == 0 && a.done.FinishReason == "stop" {
		return &llm.Error{Err: errors.New("the model only called tools that do not exist, or with arguments that are not JSON")}
	}
	return nil
}
