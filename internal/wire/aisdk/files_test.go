package aisdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/retrieval"
	"parley/internal/wire/wiretest"
)

// ofUser returns a message of a user with the question x.
func ofUser(parts string) string {
	return `{"role":"user","parts":[{"type":"text","text":"x"}` + parts + `]}`
}

const ofAssistant = `{"id":"m","role":"assistant","parts":[{"type":"text","text":"y"},` +
	`{"type":"source-document","sourceId":"a","mediaType":"application/pdf","title":"a","filename":"a.pdf"}]}`

// A request is answered from the documents of the whole conversation. Only those of the question must be readable.
func TestChat_ReadsTheDocumentsOfTheConversation(t *testing.T) {
	const (
		pdf   = `,{"type":"file","mediaType":"application/pdf","filename":"a.pdf","url":"data:application/pdf;base64,YQ=="}`
		plain = `,{"type":"file","mediaType":"text/plain; charset=utf-8","url":"data:text/plain;charset=utf-8,a%20b"}`
		notes = `,{"type":"file","mediaType":"text/markdown","filename":"notes","url":"data:;base64,YQ=="}`
		bad   = `,{"type":"file","mediaType":"application/pdf","url":"data:application/pdf;base64,?"}`
		far   = `,{"type":"file","mediaType":"application/pdf","url":"http://169.254.169.254/a.pdf"}`
		image = `,{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA=="}`
		alone = `{"role":"user","parts":[{"type":"file","mediaType":"application/pdf","url":"data:application/pdf;base64,?"}]}`
		tool  = `{"id":"m","role":"assistant","parts":[{"type":"tool-a","toolCallId":"c","state":"output-available","input":{},"output":1}]}`
	)
	for name, c := range map[string]struct{ messages, read, fails string }{
		"none":                    {ofUser(""), "", ""},
		"a PDF":                   {ofUser(pdf), "a.pdf=a messages[0].parts[1]", ""},
		"several":                 {ofUser(pdf + plain + notes), "a.pdf=a messages[0].parts[1], file.txt=a b messages[0].parts[2], notes.md=a messages[0].parts[3]", ""},
		"in an earlier turn":      {ofUser(pdf) + "," + ofAssistant + "," + ofUser(""), "a.pdf=a ", ""},
		"asked for again":         {ofUser(pdf) + "," + ofAssistant, "a.pdf=a messages[0].parts[1]", ""},
		"with the result of tool": {ofUser(pdf) + "," + tool, "a.pdf=a messages[0].parts[1]", ""},
		"refused earlier":         {ofUser(bad+far+image) + "," + alone + "," + ofUser(plain), "file.txt=a b messages[2].parts[1]", ""},
		"malformed":               {ofUser(bad), "", `"messages[0].parts[1].url" must be the content of a file in base64.`},
		"nothing but malformed":   {ofUser("") + "," + alone, "", `"messages[1].parts[0].url" must be the content`},
		"elsewhere":               {ofUser(far), "", `"messages[0].parts[1].url" must be a data: URL: this server does not download files.`},
		"an image that nobody sees": {
			ofUser(image), "", `"messages[0].parts[1]" is an image, but this server's model does not accept images.`,
		},
		"without a URL":   {ofUser(`,{"type":"file","mediaType":"text/plain"}`), "", `"messages[0].parts[1].url" must be a string`},
		"with a bad type": {ofUser(`,{"type":"file","mediaType":7,"url":"data:,a"}`), "", `"messages[0].parts[1].mediaType" must be a string`},
		"with a bad name": {ofUser(`,{"type":"file","mediaType":"text/plain","filename":7,"url":"data:,a"}`), "", `"messages[0].parts[1].filename" must be a string`},
		"unread":          {ofUser(strings.ReplaceAll(pdf, "a.pdf", "b.pdf")), "b.pdf=a messages[0].parts[1]", "It cannot be read."},
	} {
		given := &retrieval.Given{}
		var read []string
		runner := &wiretest.Scripted{Steps: wiretest.Script(t, "include answer.events\n")}
		h := handlerOf(runner, func(c *Config) {
			c.Give = func(_ context.Context, _ string, files []chat.File) (*retrieval.Given, error) {
				for _, f := range files {
					read = append(read, fmt.Sprintf("%s=%s %s", f.Name, f.Data, f.Param))
					if f.Name == "b.pdf" {
						return nil, &chat.Error{Kind: chat.Invalid, Msg: "It cannot be read."}
					}
				}
				return given, nil
			}
		})
		w := send(h, http.MethodPost, endpoint, `{"messages":[`+c.messages+`]}`)
		if got := strings.Join(read, ", "); got != c.read {
			t.Errorf("%s: read %s", name, got)
		}
		if c.fails != "" {
			var failure struct{ Error string }
			if err := json.Unmarshal(w.Body.Bytes(), &failure); err != nil || w.Code != 400 || !strings.HasPrefix(failure.Error, c.fails) || len(runner.Asked) > 0 {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
			continue
		}
		if w.Code != http.StatusOK || len(runner.Asked) != 1 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
			continue
		}
		asked := runner.Asked[0]
		if brought := len(asked.Places) == 1 && asked.Places[0].Given == given && asked.Options.Top > 3; brought != (c.read != "") {
			t.Errorf("%s: searches %+v", name, asked.Places)
		}
	}
}

// Nobody but the page has a file that it has brought: each cited page is a document without a URL.
func TestStream_CitesTheDocumentsOfARequestWithoutLinks(t *testing.T) {
	cite := func(label string, page int) chat.Citation {
		return chat.Citation{
			Label: label, Name: "a.pdf", Title: "Lease", Page: page, Namespace: retrieval.InGiven, Spans: []cite.Span{{Quote: "The rent is due."}},
		}
	}
	runner := wiretest.NewTalking(func(_ context.Context, yield func(chat.Event, error) bool) {
		_ = yield(chat.MessageFinished{
			ID: "m", Status: chat.StatusCompleted, Text: "It", Citations: []chat.Citation{cite("a.pdf#page=2", 2), cite("a.pdf#page=3", 3)},
		}, nil) && yield(chat.TurnFinished{}, nil)
	})
	body := send(handlerOf(runner, nil), http.MethodPost, endpoint, asking).Body.String()
	for i, want := range []string{
		`data: {"type":"source-document","sourceId":"a.pdf#page=2","mediaType":"application/pdf","title":"Lease, page 2","filename":"a.pdf",` +
			`"providerMetadata":{"parley":{"document":"a.pdf","citation":"a.pdf#page=2","page":2,"quote":"The rent is due."}}}`,
		`data: {"type":"source-document","sourceId":"a.pdf#page=3","mediaType":"application/pdf","title":"Lease, page 3","filename":"a.pdf",` +
			`"providerMetadata":{"parley":{"document":"a.pdf","citation":"a.pdf#page=3","page":3,"quote":"The rent is due."}}}`,
	} {
		if strings.Count(body, want) != 1 {
			t.Errorf("citation %d is missing in %s", i, body)
		}
	}
	if strings.Contains(body, "source-url") || strings.Count(body, "source-document") != 2 {
		t.Errorf("more sources: %s", body)
	}
}

// The files are read for the one who asks.
func TestChat_ReadsDocumentsForTheCaller(t *testing.T) {
	var owner string
	h := handlerOf(wiretest.Tokens(1), func(c *Config) {
		c.Give = func(_ context.Context, who string, _ []chat.File) (*retrieval.Given, error) {
			owner = who
			return &retrieval.Given{}, nil
		}
	})
	send(h, http.MethodPost, endpoint, `{"messages":[`+ofUser(`,{"type":"file","mediaType":"text/plain","url":"data:,a"}`)+`]}`, "X-Test-User", "ann")
	if owner != "ann" {
		t.Errorf("read for %q", owner)
	}
}
