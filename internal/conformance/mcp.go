package conformance

import (
	"fmt"
	"net/http"
)

func modelContext() Protocol {
	const (
		lifecycle = "MCP 2025-06-18, Lifecycle, Initialization"
		transport = "MCP 2025-06-18, Transports, Streamable HTTP"
		tools     = "MCP 2025-06-18, Tools, Listing Tools"
		ping      = "MCP 2025-06-18, Ping"
		calls     = "JSON-RPC 2.0, Error object"
		both      = "application/json, text/event-stream"
	)
	post := func(name, body string, rules ...[]Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: "/mcp", Accept: both, Body: body, frame: sse, Rules: join(rules...)}
	}
	basics := func(place string) []Rule {
		return []Rule{whole(place, http.StatusOK), typed(transport, "application/json", "text/event-stream"),
			framed(transport, "The body is one JSON object, or events with one each.")}
	}
	// answers judges the reply to a request, which is the last message if there are several.
	answers := func(id int, judgements ...judgement) func([]any) error {
		return last(append([]judgement{is("jsonrpc", "2.0"), is("id", id)}, judgements...)...)
	}
	begin := post("initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"parley-check","version":"1"}}}`,
		basics(lifecycle), []Rule{
			streamRule("message", lifecycle, "The reply is a JSON-RPC 2.0 result with the id of the request.", answers(1, has("result", object))),
			streamRule("version", lifecycle, "The result names the revision of the protocol.", answers(1, filled("result.protocolVersion"))),
			streamRule("capabilities", lifecycle, "The result has the capabilities of the server.", answers(1, has("result.capabilities", object))),
			streamRule("server", lifecycle, "The result names the server and its version.", answers(1, filled("result.serverInfo.name"), filled("result.serverInfo.version")))})
	begin.Saves = map[string]string{"mcpsession_id": "header:Mcp-Session-Id"}
	ready := post("initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, []Rule{whole(transport, http.StatusAccepted),
		{Name: "no-body", Place: transport, Demand: "The reply to a notification has no body.", holds: func(r *Reply) error {
			if len(r.Body) > 0 {
				return fmt.Errorf("it has %d bytes", len(r.Body))
			}
			return nil
		}}})
	ready.frame = opaque
	return Protocol{
		Name: "mcp", Title: "Model Context Protocol over HTTP", marks: []string{"jsonrpc", "result"},
		Exchanges: []Exchange{begin, ready,
			post("tools", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, basics(tools), []Rule{
				streamRule("list", tools, "The result has a list of tools.", answers(2, has("result.tools", array))),
				streamRule("tools", tools, `Each tool has a name and an "inputSchema" of the type "object".`, answers(2, each("result.tools", filled("name"), is("inputSchema.type", "object")))),
				streamRule("names", tools, "The names of tools differ.", last(func(v any) error {
					found, _ := at(v, "result.tools")
					return distinct("name")(found)
				})),
			}),
			post("ping", `{"jsonrpc":"2.0","id":"p","method":"ping"}`, basics(ping), []Rule{
				streamRule("pong", ping, "The reply to a ping is an empty result with the id of the request.", last(is("id", "p"), has("result", object), lacks("error")))}),
			post("unknown method", `{"jsonrpc":"2.0","id":3,"method":"parley/check"}`, []Rule{
				streamRuleOf("error", calls, "The error of an unknown method has the code -32601.", is("error.code", -32601), has("error.message", text), lacks("result"))}),
			post("no JSON", `{"jsonrpc":`, []Rule{
				streamRuleOf("error", calls, "The error of a body that is not JSON has the code -32700, or the status is 400.", func(v any) error {
					return is("error.code", -32700)(v)
				})}),
		},
	}
}

// streamRuleOf is a rule about a JSON-RPC reply with any status below 500. A reply with status 400 and without JSON keeps
// it, too.
func streamRuleOf(name, place, demand string, judgements ...judgement) Rule {
	return Rule{Name: name, Place: place, Demand: demand, holds: func(r *Reply) error {
		switch {
		case r.Err != nil:
			return r.Err
		case r.Status >= 500:
			return fmt.Errorf("the status is %d", r.Status)
		case r.Status == http.StatusBadRequest && r.malformed != nil:
			return nil //nolint:nilerr // a bare 400 is accepted
		}
		v := r.value
		if v == nil && len(r.items) > 0 {
			v = r.items[len(r.items)-1]
		}
		return allOf(judgements...)(v)
	}}
}
