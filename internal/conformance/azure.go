package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Request bodies of the AI Chat Protocol.
const (
	asked     = `{"messages":[{"content":{question},"role":"user"}],"context":{"overrides":{"top":3}},"session_state":null}`
	continued = `{"messages":[{"content":"Hello","role":"user"},{"content":"Hello! How can I help?","role":"assistant"},{"content":{question},"role":"user"}]}`
	suggested = `{"messages":[{"content":{question},"role":"user"}],"context":{"overrides":{"suggest_followup_questions":true}}}`
	nothing   = `{"messages":[]}`
	unended   = `{"messages":[{"content":`
)

// streamed adds the member "stream" of version 2024-01-28 to a body.
func streamed(body, value string) string {
	return `{"stream":` + value + "," + strings.TrimPrefix(body, "{")
}

// contextRules are the rules of a reply's context, which is at the given path.
func contextRules(place, path string) []Rule {
	points, thoughts := path+".data_points", path+".thoughts"
	return []Rule{
		rule("context", place, "The context of the reply is an object.", may(path, object)),
		rule("data-points", place, `"data_points.text" of the context is a list of strings.`, may(points, object), may(points+".text", array), each(points+".text", self(text))),
		rule("thoughts", place, `Each of the "thoughts" has a title.`, may(thoughts, array), each(thoughts, self(object), filled("title"))),
	}
}

func followups(path string) judgement {
	return allOf(may(path, array|null), each(path, self(text)))
}

func errorText(place string) []Rule {
	return refusal(place, `"error" is a string that describes the error.`, filled("error"))
}

// streamBasics are the rules of a successful stream.
func streamBasics(place string, types ...string) []Rule {
	return []Rule{
		whole(place, http.StatusOK),
		typed(place, types...),
		unbuffered(place),
		framed(place, "Each line is one JSON object in UTF-8, and every line ends with a newline, also the last one."),
		streamRule("objects", place, "Each line is an object.", every(self(object))),
		streamRule("no-error", place, `A stream that succeeds has no member "error".`, every(lacks("error"))),
	}
}

func azure0529() Protocol {
	const (
		reply  = "2024-05-29, Non-streaming response, Successful response"
		stream = "2024-05-29, Streaming response, Successful streamed response"
		errors = "2024-05-29, Error response"
		asks   = "2024-05-29, HTTP requests to the AI chat app endpoints"
		more   = "2024-05-29, Recommended request context"
	)
	message := []Rule{
		rule("message", reply, `"message" is an object with the role "assistant".`, has("message", object), is("message.role", "assistant")),
		rule("content", reply, `"content" of the message is the answer, which is not empty.`, filled("message.content")),
	}
	return Protocol{
		Name: "azure-0529", Title: "AI Chat Protocol, version 2024-05-29", marks: []string{"message", "delta", "context.data_points"},
		Exchanges: []Exchange{
			{Name: "reply", Method: http.MethodPost, Path: "/chat", Body: asked, Rules: join(json1(reply, http.StatusOK), message,
				contextRules("2024-05-29, Recommended response context", "context"),
				[]Rule{rule("no-error", reply, `A reply that succeeds has no member "error".`, lacks("error")),
					rule("no-choices", reply, `The message is not inside "choices", as it was in version 2024-01-28.`, lacks("choices"))})},
			{Name: "conversation", Method: http.MethodPost, Path: "/chat", Body: continued, Rules: join(json1(asks, http.StatusOK), message)},
			{Name: "stream", Method: http.MethodPost, Path: "/chat/stream", Body: asked, frame: ndjson,
				Rules: join(streamBasics(stream, "application/json-lines"), deltaRules(stream, "", "context"))},
			{Name: "follow-ups", Method: http.MethodPost, Path: "/chat", Body: suggested, Rules: join(json1(more, http.StatusOK), []Rule{
				rule("questions", more, `"followup_questions" of the context is a list of strings.`, followups("context.followup_questions")),
				rule("apart", more, "The follow-up questions are not in the answer.", apart("message.content"))})},
			{Name: "no messages", Method: http.MethodPost, Path: "/chat", Body: nothing, Rules: errorText(errors)},
			{Name: "no JSON", Method: http.MethodPost, Path: "/chat/stream", Body: unended, Rules: errorText(errors)},
			{Name: "no messages, streamed", Method: http.MethodPost, Path: "/chat/stream", Body: nothing, frame: ndjson, Rules: streamError("2024-05-29, Streaming response, Error in streamed response")},
		},
	}
}

func apart(path string) judgement {
	return func(v any) error {
		found, _ := at(v, path)
		if s, _ := found.(string); strings.Contains(s, "<<") && strings.Contains(s, ">>") {
			return fmt.Errorf("%s has questions between << and >>", path)
		}
		return nil
	}
}

// deltaRules are the rules of the lines of a stream. choice is the path, ending with a dot, of the choice that contains
// the delta in version 2024-01-28, and otherwise "".
func deltaRules(place, choice, context string) []Rule {
	delta := choice + "delta"
	return []Rule{
		streamRule("delta", place, "Each line has a delta.", every(has(delta, object))),
		streamRule("first-role", place, `The first line has the role "assistant".`, first(is(delta+".role", "assistant"))),
		streamRule("first-context", place, "The first line has the context, which is known before the answer.", first(has(choice+context, object))),
		streamRule("context-first", place, "No text of the answer comes before the context.", first(may(delta+".content", null))),
		streamRule("roles", place, "The role of a delta is \"assistant\" or null.", every(func(v any) error {
			if found, ok := at(v, delta+".role"); ok && found != nil && found != "assistant" {
				return fmt.Errorf("%s.role is %s", delta, compact(found))
			}
			return nil
		})),
		streamRule("content", place, "The content of a delta is a string or null.", every(may(delta+".content", text|null))),
		streamRule("answer", place, "The contents together are the answer, which is not empty.", says(delta+".content")),
	}
}

// streamError are the rules of a streamed request that fails, before or after the stream has begun.
func streamError(place string) []Rule {
	return []Rule{
		{Name: "error", Place: place, Demand: `A streamed request that fails has an error status, or ends with a line that has "error" as a string.`, holds: func(r *Reply) error {
			switch {
			case r.Err != nil:
				return r.Err
			case r.Status >= 500:
				return fmt.Errorf("the status is %d", r.Status)
			case r.Status >= 400:
				return filled("error")(r.value)
			case len(r.items) == 0:
				return errNoItems
			}
			return last(filled("error"))(r.items)
		}},
	}
}

func azure0128() Protocol {
	const (
		reply  = "2024-01-28, Non-streaming response, Successful response"
		stream = "2024-01-28, Streaming response, Successful streamed response"
		fails  = "2024-01-28, Error response"
		asks   = "2024-01-28, HTTP requests to AI chat app endpoints"
	)
	return Protocol{
		Name: "azure-0128", Title: "AI Chat Protocol, version 2024-01-28", marks: []string{"choices", "object", "usage"},
		Exchanges: []Exchange{
			{Name: "reply", Method: http.MethodPost, Path: "/chat", Body: streamed(asked, "false"), Rules: join(json1(reply, http.StatusOK), completion(reply),
				contextRules("2024-01-28, Recommended response context", "choices.0.context"), []Rule{
					rule("context-inside", reply, `"context" and "session_state" are inside the choice.`, lacks("context"), lacks("session_state")),
					rule("no-error", reply, `A reply that succeeds has no member "error".`, lacks("error"))})},
			{Name: "conversation", Method: http.MethodPost, Path: "/chat", Body: streamed(continued, "false"), Rules: join(json1(asks, http.StatusOK), completion(asks))},
			{Name: "stream", Method: http.MethodPost, Path: "/chat", Body: streamed(asked, "true"), frame: ndjson,
				Rules: join(streamBasics(stream, "application/json-lines"), chunks(stream), deltaRules(stream, "choices.0.", "context"))},
			{Name: "no messages", Method: http.MethodPost, Path: "/chat", Body: streamed(nothing, "false"), Rules: errorText(fails)},
			{Name: "no messages, streamed", Method: http.MethodPost, Path: "/chat", Body: streamed(nothing, "true"), frame: ndjson, Rules: streamError("2024-01-28, Streaming response, Error in streamed response")},
		},
	}
}

// completion are the rules of those members of a reply that come from OpenAI's Chat Completions API.
func completion(place string) []Rule {
	return []Rule{
		rule("object", place, `"object" is "chat.completion".`, is("object", "chat.completion")),
		rule("id", place, `"id" identifies the completion.`, filled("id")),
		rule("created", place, `"created" is the time in seconds since 1970.`, has("created", number), seconds("created")),
		rule("model", place, `"model" names the model.`, filled("model")),
		rule("choices", place, `"choices" is a list of at least one choice with its index.`, some("choices"), is("choices.0.index", 0)),
		rule("message", place, `The message of a choice has the role "assistant" and the answer as its content.`, is("choices.0.message.role", "assistant"), filled("choices.0.message.content")),
		rule("finish-reason", place, `"finish_reason" of a choice is a string.`, filled("choices.0.finish_reason")),
		rule("usage", place, `"usage", unless it is null, has the tokens of the prompt, of the completion, and their sum.`, has("usage", object|null), func(v any) error {
			if used, _ := at(v, "usage"); used == nil {
				return nil
			}
			return sum("usage.total_tokens", "usage.prompt_tokens", "usage.completion_tokens")(v)
		}),
	}
}

// seconds demands a whole number of seconds since 1970 that is in this century.
func seconds(path string) judgement {
	return func(v any) error {
		if n := float(v, path); n != float64(int64(n)) || n < 946_684_800 || n > 4_102_444_800 {
			found, _ := at(v, path)
			return fmt.Errorf("%s is %s", path, compact(found))
		}
		return nil
	}
}

// chunks are the rules of those members of a stream's chunks that come from OpenAI's Chat Completions API. In the AI Chat
// Protocol the server itself adds the first chunk, so the id and time of that chunk may be missing.
func chunks(place string) []Rule {
	return []Rule{
		streamRule("object", place, `"object" of each chunk is "chat.completion.chunk".`, every(is("object", "chat.completion.chunk"))),
		streamRule("ids", place, "All chunks that have an id have the same.", func(items []any) error {
			return errors.Join(every(may("id", text))(items), same("id")(items))
		}),
		streamRule("created", place, `"created" of a chunk is the time in seconds since 1970.`, every(may("created", number), func(v any) error {
			if _, ok := at(v, "created"); !ok {
				return nil
			}
			return seconds("created")(v)
		})),
		streamRule("finish-reason", place, "At most one chunk has a finish_reason, which is a string.", every(may("choices.0.finish_reason", text|null)), finishedOnce),
	}
}

// finishedOnce demands that at most one chunk ends the answer.
func finishedOnce(items []any) error {
	n := 0
	for _, v := range items {
		if found, ok := at(v, "choices.0.finish_reason"); ok && found != nil {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("%d chunks have one", n)
	}
	return nil
}

// microsoftSDK is the form of version 2024-05-29 that @microsoft/ai-chat-protocol speaks.
func microsoftSDK() Protocol {
	const place = "@microsoft/ai-chat-protocol, README and src/model"
	const body = `{"messages":[{"content":{question},"role":"user"}],"sessionState":null}`
	return Protocol{
		Name: "microsoft-sdk", Title: "AI Chat Protocol as Microsoft's SDK speaks it", marks: []string{"message", "sessionState"},
		Exchanges: []Exchange{
			{Name: "completion", Method: http.MethodPost, Path: "/api/chat/", Body: body, Writes: true, Rules: join(json1(place, http.StatusOK), []Rule{
				rule("message", place, `"message" has the role "assistant" and a content.`, is("message.role", "assistant"), filled("message.content")),
				rule("no-error", place, `A reply that succeeds has no member "error", for which the SDK throws.`, lacks("error")),
				rule("no-snake-state", place, `The state is "sessionState", not "session_state".`, lacks("session_state"))})},
			{Name: "stream", Method: http.MethodPost, Path: "/api/chat/stream", Body: body, Writes: true, frame: ndjson, Accept: "application/json", Rules: join(
				streamBasics(place, "application/jsonl", "application/json-lines", "application/x-ndjson"), []Rule{
					streamRule("delta", place, `Each line has a "delta".`, every(has("delta", object))),
					streamRule("content", place, "The content of a delta is a string or null.", every(may("delta.content", text|null))),
					streamRule("answer", place, "The contents together are the answer, which is not empty.", says("delta.content"))})},
			{Name: "no messages", Method: http.MethodPost, Path: "/api/chat/", Body: nothing, Rules: refusal(place, `"error" is an object with "code" and "message".`, filled("error.code"), filled("error.message"))},
		},
	}
}

func join(lists ...[]Rule) []Rule {
	var all []Rule
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
