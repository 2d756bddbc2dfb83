package conformance

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
)

const openAIRefused = `"error" is an object with a message and a type; "param" and "code" are strings or null.`

// openAIFailure judges an error of OpenAI's APIs.
var openAIFailure = []judgement{has("error", object), filled("error.message"), filled("error.type"), may("error.param", text|null), may("error.code", text|null|number)}

// firstModel saves the id of the first model, which other exchanges name.
var firstModel = Exchange{Name: "models", Method: http.MethodGet, Path: "/v1/models", Saves: map[string]string{"model_id": "data.0.id"}}

// embeddings returns OpenAI's Embeddings API.
func embeddings() Protocol {
	const (
		create = "OpenAI API reference, Embeddings, Create embeddings"
		vector = "OpenAI API reference, Embeddings, The embedding object"
		fails  = "OpenAI API reference, Error codes"
		path   = "/v1/embeddings"
	)
	ask := func(name, more string, rules ...Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: path, Body: `{"model":"{model_id}"` + more + `}`, Rules: join(json1(create, http.StatusOK), rules)}
	}
	return Protocol{
		Name: "embeddings", Title: "OpenAI's Embeddings API", marks: []string{"data"}, before: &firstModel,
		Exchanges: []Exchange{
			ask("texts", `,"input":["one","two and a half"],"encoding_format":"float"`,
				rule("list", create, `The reply is a list with one vector for each text, and the model.`, is("object", "list"), length("data", 2), filled("model")),
				rule("vectors", vector, "Each vector is a list of numbers, with its index.", each("data", is("object", "embedding"), some("embedding"), each("embedding", self(number))), is("data.0.index", 0), is("data.1.index", 1)),
				rule("dimensions", vector, "All vectors have the same length.", sameLengths),
				rule("usage", create, "The usage is there: at least one token for each text, and the total.", has("usage.prompt_tokens", number), has("usage.total_tokens", number), func(v any) error {
					if n := float(v, "usage.prompt_tokens"); n < 2 {
						return fmt.Errorf("usage.prompt_tokens is %v for two texts", n)
					}
					return nil
				})),
			ask("one text", `,"input":"one"`, rule("one", create, "The reply has one vector of numbers, which is the default.", length("data", 1), is("data.0.index", 0), some("data.0.embedding"))),
			ask("base64", `,"input":["one"],"encoding_format":"base64"`,
				rule("base64", create, "The vector is the base64 of 32-bit floats: OpenAI's own clients ask for it.", length("data", 1), encoded)),
			ask("tokens", `,"input":[[9906],[1820]]`, rule("tokens", create, "A text may be a list of its tokens: LangChain sends them.", length("data", 2), some("data.1.embedding"))),
			{Name: "no texts", Method: http.MethodPost, Path: path, Body: `{"model":"{model_id}","input":[]}`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
			{Name: "no input", Method: http.MethodPost, Path: path, Body: `{"model":"{model_id}"}`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
			{Name: "unknown model", Method: http.MethodPost, Path: path, Body: `{"model":"parley-check-no-such-model","input":"one"}`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
			{Name: "no JSON", Method: http.MethodPost, Path: path, Body: `{"model":`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
		},
	}
}

func sameLengths(v any) error {
	found, _ := at(v, "data")
	list, _ := found.([]any)
	n := -1
	for i, e := range list {
		inside, _ := at(e, "embedding")
		vector, _ := inside.([]any)
		if n >= 0 && len(vector) != n {
			return fmt.Errorf("vector %d has %d numbers, the first one %d", i, len(vector), n)
		}
		n = len(vector)
	}
	return nil
}

// encoded demands that the first vector is base64 of finite 32-bit floats.
func encoded(v any) error {
	if err := filled("data.0.embedding")(v); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(textAt(v, "data.0.embedding"))
	switch {
	case err != nil:
		return fmt.Errorf("data.0.embedding is not base64: %w", err)
	case len(raw)%4 != 0:
		return fmt.Errorf("data.0.embedding has %d bytes, which are not 32-bit floats", len(raw))
	}
	for i := 0; i < len(raw); i += 4 {
		if f := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("number %d of data.0.embedding is %v", i/4, f)
		}
	}
	return nil
}

// completions returns OpenAI's older Completions API, which continues a prompt.
func completions() Protocol {
	const (
		create = "OpenAI API reference, Completions, Create completion"
		reply  = "OpenAI API reference, Completions, The completion object"
		fails  = "OpenAI API reference, Error codes"
		path   = "/v1/completions"
	)
	choice := []judgement{has("text", text), has("index", number), has("logprobs", object|null)}
	head := []judgement{filled("id"), is("object", "text_completion"), has("created", number), filled("model")}
	ask := func(name, more string, rules ...[]Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: path, Body: `{"model":"{model_id}",` + more + `}`, Rules: join(rules...)}
	}
	return Protocol{
		Name: "completions", Title: "OpenAI's older Completions API", marks: []string{"choices"}, before: &firstModel,
		Exchanges: []Exchange{
			ask("completion", `"prompt":{question}`, json1(create, http.StatusOK), []Rule{
				rule("members", reply, `The reply has its id, "object": "text_completion", the time and the model.`, head...),
				rule("choice", reply, "There is one choice, with its text, index and logprobs, which may be null.", length("choices", 1), is("choices.0.index", 0), each("choices", choice...), filled("choices.0.text")),
				rule("reason", reply, "The finish_reason is one that the API defines.", is("choices.0.finish_reason", "stop", "length", "content_filter")),
				rule("usage", reply, "The usage is there, and its total is the sum.", has("usage", object), sum("usage.total_tokens", "usage.prompt_tokens", "usage.completion_tokens")),
				rule("no-error", reply, `A reply that succeeds has no member "error".`, lacks("error")),
			}),
			ask("prompts", `"prompt":[{question},{question}]`, json1(create, http.StatusOK), []Rule{
				rule("each", create, "Each prompt of a list has a choice, with the index of the prompt.", length("choices", 2), is("choices.0.index", 0), is("choices.1.index", 1), each("choices", choice...))}),
			{Name: "stream", Method: http.MethodPost, Path: path, Body: `{"model":"{model_id}","prompt":{question},"stream":true,"stream_options":{"include_usage":true}}`, Accept: "text/event-stream", frame: sse, Rules: []Rule{
				whole(create, http.StatusOK), typed(create, "text/event-stream"), unbuffered(create),
				framed(create, "Each event is data lines with one JSON object, and an empty line ends it."), ended(create), unnamed(create),
				streamRule("members", reply, "Each chunk has its id, object, time and model.", every(head...), same("id")),
				streamRule("choices", reply, "Each choice has its text and index.", every(has("choices", array), each("choices", choice[:2]...))),
				streamRule("answer", reply, "The texts together are the answer, which is not empty.", says("choices.0.text")),
				streamRule("ended", reply, "One chunk has the reason for which the text ended.", func(items []any) error {
					for _, v := range items {
						if filled("choices.0.finish_reason")(v) == nil {
							return nil
						}
					}
					return errors.New("no chunk has a finish_reason")
				}),
				streamRule("usage", create, `With "include_usage" the last chunk has the usage and no choices.`, last(has("usage", object), noChoices)),
			}},
			{Name: "unknown model", Method: http.MethodPost, Path: path, Body: `{"model":"parley-check-no-such-model","prompt":"Hello"}`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
			ask("no prompt", `"prompt":[]`, refusal(fails, openAIRefused, openAIFailure...)),
			{Name: "no JSON", Method: http.MethodPost, Path: path, Body: `{"model":`, Rules: refusal(fails, openAIRefused, openAIFailure...)},
		},
	}
}
