package conformance

import (
	"fmt"
	"net/http"
)

func responses() Protocol {
	const (
		create = "Open Responses 2026-04-24, Create a response"
		object = "Open Responses 2026-04-24, The response object"
		stream = "Open Responses 2026-04-24, Streaming"
		stored = "OpenAI API reference, Responses, Get and delete a model response"
		fails  = "Open Responses 2026-04-24, Errors"
		path   = "/v1/responses"
		one    = path + "/{response_id}"
		text   = "output.-1.content.0"
	)
	failure := []judgement{filled("error.message"), filled("error.type")}
	return Protocol{
		Name: "responses", Title: "Responses API", marks: []string{"data"},
		Exchanges: []Exchange{
			{Name: "models", Method: http.MethodGet, Path: "/v1/models", Saves: map[string]string{"model_id": "data.0.id"}, Rules: json1("OpenAI API reference, Models, List models", http.StatusOK)},
			{Name: "response", Method: http.MethodPost, Path: path, Extra: true, Body: `{"model":"{model_id}","input":{question},"store":false}`, Rules: join(json1(create, http.StatusOK), []Rule{
				rule("object", object, `"object" is "response".`, is("object", "response")),
				rule("id", object, `"id" identifies the response.`, filled("id")),
				rule("state", object, `"status" is "completed" or "incomplete".`, is("status", "completed", "incomplete")),
				rule("error", object, `"error" is null.`, has("error", null)),
				rule("created", object, `"created_at" is the time in seconds since 1970.`, has("created_at", number), seconds("created_at")),
				rule("message", object, `The last item of "output" is a message of the assistant.`, some("output"), is("output.-1.type", "message"), is("output.-1.role", "assistant"), filled("output.-1.id")),
				rule("text", object, `The message has the answer as "output_text", with annotations.`, is(text+".type", "output_text"), filled(text+".text"), has(text+".annotations", array)),
				rule("annotations", object, "The indices of an annotation lie in the text.", annotations(text)),
				rule("usage", object, `"usage" has the tokens of the input, of the output, and their sum.`, sum("usage.total_tokens", "usage.input_tokens", "usage.output_tokens")),
			})},
			{Name: "stream", Method: http.MethodPost, Path: path, Extra: true, Body: `{"model":"{model_id}","input":[{"role":"user","content":{question}}],"stream":true,"store":false}`, Accept: "text/event-stream", frame: sse, Rules: []Rule{
				whole(stream, http.StatusOK),
				typed(stream, "text/event-stream"),
				unbuffered(stream),
				framed(stream, "Each event is data lines with one JSON object, and an empty line ends it."),
				ended(stream),
				{Name: "names", Place: stream, Demand: "The name of each event is its type.", holds: func(r *Reply) error {
					for i, v := range r.items {
						if err := is("type", r.events[i])(v); err != nil {
							return fmt.Errorf("event %d is named %q: %w", i+1, shorten(r.events[i], 60), err)
						}
					}
					return nil
				}},
				streamRule("numbers", stream, `"sequence_number" counts the events without gaps.`, func(items []any) error {
					from := int(float(items[0], "sequence_number"))
					for i, v := range items {
						if err := is("sequence_number", from+i)(v); err != nil {
							return fmt.Errorf("event %d: %w", i+1, err)
						}
					}
					return nil
				}),
				{Name: "order", Place: stream, Demand: "The events of a message come in their order.", holds: func(r *Reply) error {
					return ordered(r.events, "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
						"response.output_text.delta", "response.output_text.done", "response.content_part.done")
				}},
				streamRule("last", stream, "The last event is that the response is completed or incomplete.", last(is("type", "response.completed", "response.incomplete"), is("response.object", "response"))),
				streamRule("text", stream, "The deltas together are the text of the event that ends it.", func(items []any) error {
					deltas, whole := joinedOf(items, "response.output_text.delta", "delta"), joinedOf(items, "response.output_text.done", "text")
					if deltas == "" || deltas != whole {
						return fmt.Errorf("the deltas make %q, the text is %q", shorten(deltas, 80), shorten(whole, 80))
					}
					return nil
				}),
			}},
			{Name: "store", Method: http.MethodPost, Path: path, Extra: true, Writes: true, Body: `{"model":"{model_id}","input":{question}}`, Saves: map[string]string{"response_id": "id"}, Rules: json1(create, http.StatusOK)},
			{Name: "continue", Method: http.MethodPost, Path: path, Writes: true, Body: `{"model":"{model_id}","input":"Why?","previous_response_id":"{response_id}","store":false}`, Rules: join(json1(create, http.StatusOK), []Rule{
				rule("previous", object, `"previous_response_id" is the response that was continued.`, has("previous_response_id", textKind))})},
			{Name: "read", Method: http.MethodGet, Path: one, Writes: true, Rules: join(json1(stored, http.StatusOK), []Rule{
				rule("same", stored, "A stored response is read by its id.", is("object", "response"), filled("id"), some("output"))})},
			{Name: "delete", Method: http.MethodDelete, Path: one, Writes: true, Rules: join(json1(stored, http.StatusOK), []Rule{
				rule("deleted", stored, `The reply says "deleted": true.`, is("deleted", true), filled("id"))})},
			{Name: "read a deleted one", Method: http.MethodGet, Path: one, Writes: true, Rules: []Rule{whole(stored, http.StatusNotFound)}},
			{Name: "no model", Method: http.MethodPost, Path: path, Extra: true, Body: `{"input":"Hello"}`, Rules: refusal(fails, `"error" is an object with a message and a type.`, failure...)},
			{Name: "wrong input", Method: http.MethodPost, Path: path, Extra: true, Body: `{"model":"{model_id}","input":5}`, Rules: refusal(fails, `"error" is an object with a message and a type.`, failure...)},
		},
	}
}

const textKind = text

// joinedOf concatenates the strings at a path in the events of one type.
func joinedOf(items []any, event, path string) string {
	var of []any
	for _, v := range items {
		if kind, _ := at(v, "type"); kind == event {
			of = append(of, v)
		}
	}
	return joined(of, path)
}

// annotations demands that the indices of each annotation lie in the text, the start not after the end.
func annotations(path string) judgement {
	return func(v any) error {
		found, _ := at(v, path+".text")
		s, _ := found.(string)
		n := float64(len([]rune(s)))
		return each(path+".annotations", filled("type"), func(a any) error {
			if _, ok := at(a, "start_index"); !ok {
				return nil
			}
			if start, end := float(a, "start_index"), float(a, "end_index"); start < 0 || end < start || end > n {
				return fmt.Errorf("the indices are %v and %v in a text of %v characters", start, end, n)
			}
			return nil
		})(v)
	}
}
