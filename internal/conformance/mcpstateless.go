package conformance

import (
	"fmt"
	"net/http"
	"strings"
)

// modelContextStateless returns the revision of MCP without handshake and sessions: each request repeats in its headers and _meta
// what the handshake of earlier revisions contained.
func modelContextStateless() Protocol {
	const (
		version  = "2026-07-28"
		discover = "MCP 2026-07-28, Discovery"
		headers  = "MCP 2026-07-28, Transports, Standard Headers"
		caching  = "MCP 2026-07-28, Caching"
		versions = "MCP 2026-07-28, Versioning"
	)
	post := func(name, says, method, asked string, rules ...[]Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: "/mcp", Accept: "application/json, text/event-stream", frame: sse,
			Header: map[string]string{"MCP-Protocol-Version": asked, "Mcp-Method": says}, Rules: join(rules...),
			Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
				`"io.modelcontextprotocol/clientInfo":{"name":"parley-check","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, asked)}
	}
	// list asks for a list. Clients may cache it, so the reply says how long it is valid, and for which clients.
	list := func(method, member string) Exchange {
		x := post(strings.ReplaceAll(method, "/", " "), method, method, version, []Rule{
			whole(caching, http.StatusOK), typed(headers, "application/json", "text/event-stream"), framed(headers, "The body is one JSON object, or events with one each."),
			streamRule("list", caching, "The result is complete, and has the list.", last(is("id", 1), is("result.resultType", "complete"), has("result."+member, array))),
			streamRule("scope", caching, `"cacheScope" is "public" or "private".`, last(is("result.cacheScope", "public", "private"))),
			streamRule("time", caching, `"ttlMs" is a number.`, last(has("result.ttlMs", number))),
		})
		x.Extra = method != "tools/list"
		return x
	}
	refused := func(place, demand string, status int, judgements ...judgement) []Rule {
		return []Rule{
			{Name: "status", Place: place, Demand: fmt.Sprintf("The status is %d.", status), holds: func(r *Reply) error {
				if r.Status != status {
					return fmt.Errorf("the status is %d", r.Status)
				}
				return nil
			}},
			streamRuleOf("error", place, demand, append(judgements, has("error.message", text), lacks("result"))...),
		}
	}
	return Protocol{
		Name: "mcp-2026-07", Title: "Model Context Protocol of 2026-07-28 over HTTP", marks: []string{"result"},
		Exchanges: []Exchange{
			post("discover", "server/discover", "server/discover", version, []Rule{
				whole(discover, http.StatusOK), typed(headers, "application/json", "text/event-stream"), framed(headers, "The body is one JSON object, or events with one each."),
				streamRule("message", discover, "The reply is a complete result with the id of the request.", last(is("jsonrpc", "2.0"), is("id", 1), is("result.resultType", "complete"))),
				streamRule("versions", discover, "The result has a list of the revisions that the server supports.", last(some("result.supportedVersions"))),
				streamRule("capabilities", discover, "The result has the capabilities of the server.", last(has("result.capabilities", object))),
				streamRule("scope", caching, `"cacheScope" is "public" or "private".`, last(is("result.cacheScope", "public", "private"))),
			}),
			list("tools/list", "tools"), list("resources/list", "resources"), list("resources/templates/list", "resourceTemplates"), list("prompts/list", "prompts"),
			post("another method", "tools/call", "tools/list", version, refused(headers, "The error of headers that are not the body's has the code -32020.",
				http.StatusBadRequest, is("error.code", -32020))),
			post("unknown revision", "tools/list", "tools/list", "2030-01-01", refused(versions,
				`The error of an unknown revision has the code -32022 and a list of the supported ones.`,
				http.StatusBadRequest, is("error.code", -32022), some("error.data.supported"))),
			post("unknown method", "parley/check", "parley/check", version, refused(headers, "The error of an unknown method has the code -32601.",
				http.StatusNotFound, is("error.code", -32601))),
		},
	}
}
