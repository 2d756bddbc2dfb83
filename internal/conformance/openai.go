package conformance

import (
	"errors"
	"fmt"
	"net/http"
)

func openAI() Protocol {
	const (
		models = "OpenAI API reference, Models, List models"
		create = "OpenAI API reference, Chat, Create chat completion"
		chunk  = "OpenAI API reference, Chat, The chat completion chunk object"
		fails  = "OpenAI API reference, Error codes"
		path   = "/v1/chat/completions"
		ask    = `{"model":"{model_id}","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":{question}}]}`
		events = `{"model":"{model_id}","messages":[{"role":"user","content":{question}}],"stream":true,"stream_options":{"include_usage":true}}`
	)
	return Protocol{
		Name: "openai", Title: "OpenAI's Chat Completions API", marks: []string{"data"},
		Exchanges: []Exchange{
			{Name: "models", Method: http.MethodGet, Path: "/v1/models", Saves: map[string]string{"model_id": "data.0.id"}, Rules: join(json1(models, http.StatusOK), []Rule{
				rule("list", models, `The reply is a list with the models in "data".`, is("object", "list"), some("data")),
				rule("models", models, `Each model has an id, "object": "model", a time and an owner.`, each("data", filled("id"), is("object", "model"), has("created", number), filled("owned_by")))})},
			{Name: "completion", Method: http.MethodPost, Path: path, Body: ask, Rules: join(json1(create, http.StatusOK), completion(create), []Rule{
				rule("used", create, "The usage is there.", has("usage", object)),
				rule("reasons", create, "The finish_reason is one that the API defines.", is("choices.0.finish_reason", "stop", "length", "tool_calls", "content_filter", "function_call")),
				rule("no-error", create, `A reply that succeeds has no member "error".`, lacks("error"))})},
			{Name: "stream", Method: http.MethodPost, Path: path, Body: events, Accept: "text/event-stream", frame: sse, Rules: join([]Rule{
				whole(create, http.StatusOK),
				typed(create, "text/event-stream"),
				unbuffered(create),
				framed(create, "Each event is data lines with one JSON object, and an empty line ends it."),
				ended(create),
				unnamed(create),
				streamRule("no-error", create, `A stream that succeeds has no member "error".`, every(lacks("error"))),
			}, chunks(chunk), []Rule{
				streamRule("members", chunk, "Each chunk has its id, time and model.", every(filled("id"), has("created", number), filled("model"))),
				streamRule("ended", chunk, "One chunk has the reason for which the answer ended.", func(items []any) error {
					for _, v := range items {
						if filled("choices.0.finish_reason")(v) == nil {
							return nil
						}
					}
					return errors.New("no chunk has a finish_reason")
				}),
				streamRule("first-role", chunk, `The first delta has the role "assistant".`, first(is("choices.0.delta.role", "assistant"))),
				streamRule("content", chunk, "The content of a delta is a string or null.", every(may("choices.0.delta.content", text|null))),
				streamRule("answer", chunk, "The contents together are the answer, which is not empty.", says("choices.0.delta.content")),
				streamRule("usage", chunk, `With "include_usage" the last chunk has the usage and no choices.`, last(has("usage", object),
					sum("usage.total_tokens", "usage.prompt_tokens", "usage.completion_tokens"), noChoices)),
				streamRule("choices", chunk, "Every other chunk has a choice with its index and delta.", func(items []any) error {
					return every(some("choices"), is("choices.0.index", 0), has("choices.0.delta", object))(items[:len(items)-1])
				}),
			})},
			{Name: "unknown model", Method: http.MethodPost, Path: path, Body: `{"model":"parley-check-no-such-model","messages":[{"role":"user","content":"Hello"}]}`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
			{Name: "no messages", Method: http.MethodPost, Path: path, Body: `{"model":"{model_id}"}`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
			{Name: "no JSON", Method: http.MethodPost, Path: path, Body: `{"model":`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
		},
	}
}

func noChoices(v any) error {
	found, _ := at(v, "choices")
	if list, ok := found.([]any); !ok || len(list) > 0 {
		return errors.New("choices is not an empty list")
	}
	return nil
}

// ended demands the event that ends OpenAI's streams.
func ended(place string) Rule {
	return Rule{Name: "done", Place: place, Demand: "The stream ends with the event [DONE].", holds: func(r *Reply) error {
		if !r.done {
			return errors.New("there is no [DONE]")
		}
		return nil
	}}
}

func unnamed(place string) Rule {
	return Rule{Name: "unnamed", Place: place, Demand: "The events have no name: clients listen for messages.", holds: func(r *Reply) error {
		for i, name := range r.events {
			if name != "" && name != "message" {
				return fmt.Errorf("event %d is named %q", i+1, shorten(name, 40))
			}
		}
		return nil
	}}
}
