package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// responsesSample returns the protocol that the Azure samples have spoken since April 2026.
func responsesSample() Protocol {
	const (
		reply  = "azure-search-openai-demo, April 2026, reply"
		stream = "azure-search-openai-demo, April 2026, stream"
		path   = "/p/responses/chat"
		ask    = `{"input":{question},"context":{"overrides":{"send_text_sources":true}},"session_state":null}`
	)
	context := func(v any) error {
		if textAt(v, "type") != "response.context" {
			return nil
		}
		return has("context", object)(v)
	}
	return Protocol{
		Name: "azure-2026-04", Title: "Azure samples since April 2026", marks: []string{"output_text"},
		Exchanges: []Exchange{
			{Name: "reply", Method: http.MethodPost, Path: path, Body: ask, Rules: join(json1(reply, http.StatusOK), []Rule{
				rule("answer", reply, `"output_text" is the answer, which is not empty.`, filled("output_text")),
				rule("no-error", reply, `A reply that succeeds has no member "error".`, lacks("error")),
			}, contextRules(reply, "context"))},
			{Name: "stream", Method: http.MethodPost, Path: path + "/stream", Body: ask, frame: ndjson, Rules: join(streamBasics(stream, "application/json-lines"), []Rule{
				streamRule("types", stream, `Each line has the type response.context or response.output_text.delta.`, every(is("type", "response.context", "response.output_text.delta"))),
				streamRule("context-first", stream, "The first line has the context, which is known before the answer.", first(is("type", "response.context"))),
				streamRule("context", stream, `A line response.context has an object "context".`, every(context)),
				streamRule("deltas", stream, `A line response.output_text.delta has a text "delta".`, when("response.output_text.delta", has("delta", text))),
				streamRule("answer", stream, "The deltas together are the answer, which is not empty.", sayIn("response.output_text.delta")),
			})},
			{Name: "no question", Method: http.MethodPost, Path: path, Body: `{"input":[]}`, Rules: errorText(reply)},
			{Name: "no JSON", Method: http.MethodPost, Path: path + "/stream", Body: `{"input":`, Rules: errorText(reply)},
		},
	}
}

// onYourData returns Azure OpenAI "On Your Data": the back end of the sample application, and the service behind it.
func onYourData() Protocol {
	const (
		sample   = "sample-app-aoai-chatGPT, POST /conversation"
		settings = "sample-app-aoai-chatGPT, GET /frontend_settings"
		service  = "Azure OpenAI, On Your Data, Chat completions extensions"
		ask      = `{"messages":[{"id":"m1","role":"user","content":{question},"date":"2026-11-23T10:00:00Z"}]}`
		sources  = `{"messages":[{"role":"user","content":{question}}],"data_sources":[{"type":"azure_search","parameters":{}}]}`
	)
	citation := []judgement{has("content", text), has("title", text|null), has("url", text|null), has("filepath", text|null), has("chunk_id", text|null)}
	tool := func(v any) error {
		if textAt(v, "choices.0.messages.0.role") != "tool" {
			return nil
		}
		var inside any
		if err := json.Unmarshal([]byte(textAt(v, "choices.0.messages.0.content")), &inside); err != nil {
			return fmt.Errorf("the content of the message of the tool is not JSON: %w", err)
		}
		return allOf(has("citations", array), each("citations", citation...))(inside)
	}
	return Protocol{
		Name: "on-your-data", Title: `Azure OpenAI "On Your Data"`, marks: []string{"choices"},
		Exchanges: []Exchange{
			{Name: "conversation", Method: http.MethodPost, Path: "/conversation", Body: ask, frame: ndjson, Rules: join(streamBasics(sample, "application/json-lines", "application/json"), []Rule{
				streamRule("members", sample, "Each line has an id, a model, a time and one choice with one message or more.", every(filled("id"), has("model", text), has("created", number), some("choices"), some("choices.0.messages"))),
				streamRule("roles", sample, `The role of a message is "tool" or "assistant".`, every(is("choices.0.messages.0.role", "tool", "assistant"))),
				streamRule("tool-first", sample, "The message of the tool, with the citations, comes before the answer.", first(is("choices.0.messages.0.role", "tool"))),
				streamRule("citations", sample, `The content of the tool's message is JSON with "citations", each with content, title, url, filepath and chunk_id.`, every(tool)),
				streamRule("answer", sample, "The contents of the assistant's messages together are the answer, which is not empty.", func(items []any) error {
					for _, v := range items {
						if textAt(v, "choices.0.messages.0.role") == "assistant" && textAt(v, "choices.0.messages.0.content") != "" {
							return nil
						}
					}
					return errors.New("no line has any of it")
				}),
			})},
			{Name: "settings", Method: http.MethodGet, Path: "/frontend_settings", Extra: true, Rules: join(json1(settings, http.StatusOK), []Rule{
				rule("ui", settings, `"ui" is an object with a title.`, has("ui", object), filled("ui.title"))})},
			{Name: "no question", Method: http.MethodPost, Path: "/conversation", Body: nothing, Rules: errorText(sample)},
			{Name: "service", Method: http.MethodPost, Path: "/openai/deployments/parley/chat/completions", Extra: true, Body: sources, Rules: join(json1(service, http.StatusOK), []Rule{
				rule("message", service, `The choice has a message of the role "assistant" that is not empty.`, is("choices.0.message.role", "assistant"), filled("choices.0.message.content")),
				rule("citations", service, `"context.citations" of the message has content, title, url, filepath and chunk_id of each.`, has("choices.0.message.context.citations", array),
					each("choices.0.message.context.citations", citation...)),
			})},
		},
	}
}
