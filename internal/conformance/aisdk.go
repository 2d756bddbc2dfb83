package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Places of the AI SDK's rules: sections of its documentation.
const (
	uiStream = "AI SDK, UI message stream protocol"
	uiText   = uiStream + ", Text parts"
	uiSteps  = uiStream + ", Step parts"
	uiSource = uiStream + ", Source parts"
	uiFile   = uiStream + ", File parts"
	uiPlace  = "AI SDK UI, Chatbot, Files"
	uiErrors = "AI SDK, Transport"
)

var uiParts = []string{"start", "finish", "abort", "error", "start-step", "finish-step", "message-metadata", "text-start", "text-delta", "text-end",
	"reasoning-start", "reasoning-delta", "reasoning-end", "tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error",
	"tool-output-available", "tool-output-error", "tool-output-denied", "tool-approval-request", "source-url", "source-document", "file"}

func aiSDK() Protocol {
	const (
		path   = "/api/chat"
		before = `{"id":"parley-check","trigger":"submit-message","messages":[{"id":"m1","role":"user","parts":[`
		ask    = before + `{"type":"text","text":{question}}]}]}`
		// The file consists of the line "The meeting room on the fourth floor is called Zephyrion."
		note   = `{"type":"file","mediaType":"text/plain","filename":"note.txt","url":"data:text/plain;base64,VGhlIG1lZXRpbmcgcm9vbSBvbiB0aGUgZm91cnRoIGZsb29yIGlzIGNhbGxlZCBaZXBoeXJpb24uCg=="}`
		about  = `{"type":"text","text":"What is the meeting room on the fourth floor called?"}`
		reply  = `{"id":"m2","role":"assistant","parts":[{"type":"text","text":"It has a name."}]}`
		behind = `{"id":"m3","role":"user","parts":[` + about + `]}`
	)
	post := func(name, body string, rules []Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: path, Body: body, frame: sse, Rules: rules}
	}
	refused := func(name, body string) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: path, Body: body, Rules: refusedAnyhow(uiErrors)}
	}
	used := streamRule("file-used", uiPlace, "The answer comes from the file: it has a name that occurs only in the file.", func(items []any) error {
		var b strings.Builder
		for _, v := range items {
			b.WriteString(textAt(v, "delta"))
		}
		if !strings.Contains(strings.ToLower(b.String()), "zephyrion") {
			return fmt.Errorf("the answer is %q", shorten(b.String(), 100))
		}
		return nil
	})
	return Protocol{
		Name: "ai-sdk", Title: "UI message stream of the AI SDK", marks: []string{"type"},
		Exchanges: []Exchange{
			post("stream", ask, uiRules()),
			post("file", before+note+`,`+about+`]}]}`, join(uiRules(), []Rule{used})),
			post("file of an earlier message", before+note+`,{"type":"text","text":"Here is a note."}]},`+reply+`,`+behind+`]}`, join(uiRules(), []Rule{used})),
			refused("no question", `{"id":"parley-check","trigger":"submit-message","messages":[]}`),
			refused("file without url", before+`{"type":"file","mediaType":"text/plain","filename":"note.txt"},`+about+`]}]}`),
			refused("url that is no text", before+`{"type":"file","mediaType":"text/plain","url":5},`+about+`]}]}`),
		},
	}
}

// uiRules are the rules of a stream with an answer.
func uiRules() []Rule {
	return join(eventBasics(uiStream), []Rule{
		{Name: "header", Place: uiStream, Demand: `The header x-vercel-ai-ui-message-stream is "v1".`, holds: func(r *Reply) error {
			if got := r.Header.Get("X-Vercel-Ai-Ui-Message-Stream"); got != "v1" {
				return fmt.Errorf("it is %q", shorten(got, 40))
			}
			return nil
		}},
		ended(uiStream),
		streamRule("known", uiStream, `Each part has a type of the protocol, or one that begins with "data-".`, every(func(v any) error {
			if kind := textAt(v, "type"); !slices.Contains(uiParts, kind) && !strings.HasPrefix(kind, "data-") {
				return fmt.Errorf("the type %q is unknown", shorten(kind, 40))
			}
			return nil
		})),
		streamRule("start", uiStream, "The first part is start, and there is no other.", once("start", true)),
		streamRule("finish", uiStream, "The last part is finish, and there is no other.", once("finish", false)),
		streamRule("no-error", uiStream, "A stream that succeeds has no part error.", every(isNot("type", "error"))),
		streamRule("deltas", uiText, "A text-delta has the id of its text and a text.", when("text-delta", filled("id"), has("delta", kindText))),
		streamRule("texts", uiText, "A text is begun by text-start, goes on with text-delta, and ends with text-end, all with its id.", parts(func(v any) (phase, string) {
			kind := textAt(v, "type")
			key := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(kind, "-start"), "-delta"), "-end")
			if key != "text" && key != "reasoning" {
				return none, ""
			}
			p := map[string]phase{"-start": opens, "-delta": goesOn, "-end": closes}[strings.TrimPrefix(kind, key)]
			return p, key + " " + textAt(v, "id")
		}, never)),
		streamRule("steps", uiSteps, "A step is begun by start-step and ends with finish-step.", parts(func(v any) (phase, string) {
			return map[string]phase{"start-step": opens, "finish-step": closes}[textAt(v, "type")], "the step"
		}, always)),
		streamRule("answer", uiText, "The texts together are the answer, which is not empty.", sayIn("text-delta")),
		streamRule("source-url", uiSource, "A source-url has an id and a URL.", when("source-url", filled("sourceId"), filled("url"))),
		streamRule("source-document", uiSource, "A source-document has an id, a media type and a title.", when("source-document", filled("sourceId"), filled("mediaType"), filled("title"))),
		streamRule("file", uiFile, "A file has an address and a media type.", when("file", filled("mediaType"), isFileURL)),
	})
}

// isFileURL demands that the member url has a scheme that browsers can open.
func isFileURL(v any) error {
	given := textAt(v, "url")
	u, err := url.Parse(given)
	if err != nil || !slices.Contains([]string{"data", "http", "https", "blob"}, u.Scheme) {
		return fmt.Errorf("url is %q", shorten(given, 40))
	}
	return nil
}
