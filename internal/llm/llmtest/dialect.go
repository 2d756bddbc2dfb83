package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Dialect is the protocol of an Upstream. Except for the faults, it follows the documentation that the
// packages of the providers cite.
type Dialect struct {
	path      string // of completions; a pattern of http.ServeMux
	mediaType string // media type of a stream
	// model returns the model that a request asks for.
	model func(r *http.Request, body []byte) (string, bool)
	// frame returns an event in the form that it has in the stream.
	frame func(data string) string
	// failure returns an error object.
	failure func(status int, code, message string) string
	begin   []string                 // events before the first text; one of them names the model stub-1
	delta   func(text string) string // event with a text
	end     func(fault string) []string
	broken  string   // event that says that the server failed
	odd     string   // events in an unusual form, with the text "odd "
	mute    []string // events without any content, each in another form
	ping    string   // event as in the stream, which says that the server is still at work
	blocked string   // event that says that the prompt was refused; "" in dialects that refuse with a status
	// document returns the whole answer to a request, in dialects that do not stream. If ok is false,
	// the request does not follow the dialect, and the status is 422.
	document func(fault string, request []byte) (answer string, ok bool)
	silent   bool // document reports no usage
}

func named(_ *http.Request, body []byte) (string, bool) {
	var req struct {
		Model string `json:"model"`
	}
	err := json.Unmarshal(body, &req)
	return req.Model, err == nil
}

func sse(data string) string { return "data: " + data + "\n\n" }

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func oddly(event string) string {
	return ": comment\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\ndata:" + event + "\r\n\r\n"
}

const openAIHead = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"stub-1",` +
	`"system_fingerprint":"fp_1","choices":[{"index":0,"delta":`

func openAIDelta(text string) string {
	return openAIHead + `{"content":` + quoted(text) + `},"finish_reason":null}]}`
}

func openAIFailure(status int, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"x","code":%q,"status":%d}}`, message, code, status)
}

// openAIEnd is the end of a stream in all dialects with OpenAI's protocol.
func openAIEnd(fault string) (events []string) {
	reason := "stop"
	if fault == "filtered" {
		reason = "content_filter"
	}
	if fault != "nofinish" {
		events = append(events, openAIHead+`{},"finish_reason":"`+reason+`"}]}`)
	}
	usage := `{"prompt_tokens":12,"completion_tokens":10,"total_tokens":22,` +
		`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`
	if fault == "usage" {
		usage = `{"prompt_tokens":-5,"completion_tokens":1e18}`
	}
	if fault != "nousage" {
		events = append(events, `{"id":"","model":"stub-1","choices":[],"usage":`+usage+`}`)
	}
	if fault != "nodone" {
		events = append(events, "[DONE]")
	}
	return events
}

// OpenAI is the protocol of OpenAI's chat completions.
var OpenAI = Dialect{
	path: "/v1/chat/completions", mediaType: "text/event-stream", model: named, frame: sse,
	failure: openAIFailure,
	begin:   []string{openAIHead + `{"role":"assistant","content":""},"finish_reason":null}]}`},
	delta:   openAIDelta,
	end:     openAIEnd,
	broken:  `{"error":{"message":"server error ` + Key + `","type":"server_error","code":null}}`,
	odd:     oddly(openAIDelta("odd ")) + sse(`{"choices":[]}`),
	mute:    openAIMute,
	ping:    ": OPENROUTER PROCESSING\n\n",
}

// openAIMute are the mute events of all dialects with OpenAI's protocol.
var openAIMute = []string{
	openAIDelta(""), openAIDelta(" "), openAIDelta("\n\t"), `{}`, `{"choices":[]}`,
	openAIHead + `{},"finish_reason":null}]}`,
	openAIHead + `{"role":"assistant"},"finish_reason":null}]}`,
	openAIHead + `{"content":"","reasoning_content":"","reasoning":"","refusal":"","tool_calls":[]}}]}`,
	openAIHead + `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"","arguments":""}}]}}]}`,
	openAIHead + `{},"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`,
	`{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5}}`,
}

// AzureOpenAI is OpenAI's protocol at the addresses of Azure, with the verdicts of its filter.
var AzureOpenAI = Dialect{
	path: "/openai/deployments/{model}/chat/completions", mediaType: "text/event-stream", frame: sse,
	model: func(r *http.Request, _ []byte) (string, bool) {
		return r.PathValue("model"), r.URL.Query().Get("api-version") != ""
	},
	failure: func(status int, code, message string) string {
		if code == "content_filter" {
			return fmt.Sprintf(`{"error":{"message":%q,"type":null,"param":"prompt","code":"content_filter","status":%d,`+
				`"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, message, status)
		}
		return openAIFailure(status, code, message)
	},
	begin: []string{
		`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`,
		openAIHead + `{"role":"assistant","content":""},"finish_reason":null}]}`,
	},
	delta:  openAIDelta,
	end:    openAIEnd,
	broken: OpenAI.broken,
	odd:    OpenAI.odd,
	mute:   openAIMute,
	ping:   OpenAI.ping,
}

func anthropicDelta(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quoted(text) + `}}`
}

func anthropicEvent(data string) string {
	var w struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal([]byte(data), &w)
	return "event: " + w.Type + "\n" + sse(data)
}

// Anthropic is the protocol of Anthropic's messages.
var Anthropic = Dialect{
	path: "/v1/messages", mediaType: "text/event-stream", model: named, frame: anthropicEvent,
	failure: func(status int, _, message string) string {
		kind := map[int]string{401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error", 503: "api_error"}[status]
		kind = cmp.Or(kind, "invalid_request_error")
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
	},
	begin: []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"stub-1","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":8,"cache_read_input_tokens":4,"cache_creation_input_tokens":0,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"ping"}`,
	},
	delta: anthropicDelta,
	end: func(fault string) (events []string) {
		reason, usage := `"end_turn"`, `"usage":{"output_tokens":10}`
		switch fault {
		case "filtered":
			reason = `"refusal"`
		case "nofinish":
			reason = "null"
		case "usage":
			usage = `"usage":{"input_tokens":-5,"output_tokens":1e18}`
		case "nousage":
			usage = `"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`
		}
		events = append(events, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":`+reason+`,"stop_sequence":null},`+usage+`}`)
		if fault != "nodone" {
			events = append(events, `{"type":"message_stop"}`)
		}
		return events
	},
	broken: `{"type":"error","error":{"type":"overloaded_error","message":"server error ` + Key + `"}}`,
	odd:    oddly(anthropicDelta("odd ")) + sse(`{"type":"an_event_of_the_future","index":0}`),
	mute: []string{
		anthropicDelta(""), anthropicDelta(" "), `{"type":"an_event_of_the_future","index":0}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":5}}`,
	},
	ping: "event: ping\n" + sse(`{"type":"ping"}`),
}

func geminiChunk(rest string) string {
	return `{"candidates":[{"index":0` + rest + `],"modelVersion":"stub-1","responseId":"r-1"}`
}

func geminiDelta(text string) string {
	return geminiChunk(`,"content":{"role":"model","parts":[{"text":` + quoted(text) + `}]}}`)
}

// Gemini is the protocol of Google's generateContent.
var Gemini = Dialect{
	path: "/v1beta/models/{model}", mediaType: "text/event-stream", frame: func(data string) string {
		return strings.ReplaceAll(sse(data), "\n", "\r\n")
	},
	model: func(r *http.Request, _ []byte) (string, bool) {
		name, method, _ := strings.Cut(r.PathValue("model"), ":")
		return name, method == "streamGenerateContent" && r.URL.Query().Get("alt") == "sse"
	},
	failure: func(status int, _, message string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":"X"}}`, status, message)
	},
	begin: []string{geminiDelta("")},
	delta: geminiDelta,
	end: func(fault string) []string {
		reason := `,"finishReason":"STOP"`
		switch fault {
		case "filtered":
			reason = `,"finishReason":"SAFETY"`
		case "nofinish":
			reason = ""
		}
		usage := `,"usageMetadata":{"promptTokenCount":12,"cachedContentTokenCount":4,"candidatesTokenCount":9,"thoughtsTokenCount":1,"totalTokenCount":22}}`
		switch fault {
		case "usage":
			usage = `,"usageMetadata":{"promptTokenCount":-5,"candidatesTokenCount":1e18}}`
		case "nousage":
			usage = "}"
		}
		return []string{strings.TrimSuffix(geminiChunk(reason+"}"), "}") + usage}
	},
	broken: `{"error":{"code":500,"message":"server error ` + Key + `","status":"INTERNAL"}}`,
	odd:    oddly(geminiDelta("odd ")) + sse(`{"candidates":[]}`),
	mute: []string{
		geminiDelta(""), geminiDelta("\n"), `{}`, `{"candidates":[]}`, geminiChunk(`}`),
		geminiChunk(`,"content":{"role":"model","parts":[]}}`),
		geminiChunk(`,"content":{"role":"model","parts":[{"text":"","thought":true}]}}`),
		`{"usageMetadata":{"promptTokenCount":12}}`,
	},
	ping:    ": at work\r\n\r\n",
	blocked: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":12},"modelVersion":"stub-1"}`,
}

func ollamaDelta(text string) string {
	return `{"model":"stub-1","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":` + quoted(text) + `},"done":false}`
}

// Ollama is the protocol of Ollama's chats.
var Ollama = Dialect{
	path: "/api/chat", mediaType: "application/x-ndjson", model: named,
	frame:   func(data string) string { return data + "\n" },
	failure: func(_ int, _, message string) string { return `{"error":` + quoted(message) + `}` },
	begin:   []string{ollamaDelta("")},
	delta:   ollamaDelta,
	end: func(fault string) []string {
		rest := `,"prompt_eval_count":12,"eval_count":10}`
		switch fault {
		case "usage":
			rest = `,"prompt_eval_count":-5,"eval_count":1e18}`
		case "nousage":
			rest = "}"
		}
		if fault != "nofinish" {
			rest = `,"done_reason":"stop"` + rest
		}
		if fault == "nodone" {
			return nil
		}
		return []string{`{"model":"stub-1","message":{"role":"assistant","content":""},"done":true` + rest}
	},
	broken: `{"error":"server error ` + Key + `"}`,
	mute:   []string{ollamaDelta(""), ollamaDelta("  "), `{}`, `{"message":{"role":"assistant","content":"","thinking":"","tool_calls":[]}}`},
	ping:   "\n",
	odd:    "\r\n\n " + ollamaDelta("odd ") + "\r\n" + `{"model":"stub-1","a_field_of_the_future":{},"done":false}` + "\n",
}
