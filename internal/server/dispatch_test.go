package server

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/wire"
)

// seen describes the request that reached an adapter: the route's pattern without a trailing slash, the
// version of the protocol on paths that versions share, and the body.
type seen struct {
	Pattern, Speaks string
	IsForm          bool
	Body            string
}

// catcher stands in for the AI Chat Protocol. It answers 200 and records the request.
type catcher struct{ got *seen }

func (c *catcher) wrap(rt wire.Route) wire.Route {
	rt.Handle = func(w http.ResponseWriter, r *wire.Request) error {
		c.got = &seen{Pattern: strings.TrimSuffix(rt.Pattern, "/{$}"), Speaks: rt.Speaks, IsForm: r.IsForm, Body: string(r.Body)}
		return wire.WriteJSON(w, http.StatusOK, []byte("{}"))
	}
	return rt
}

// The rows are those of specs/README.md section 1, in its order.
func TestDispatch_TakesTheFirstRowThatMatches(t *testing.T) {
	const v0529, v0128, none = azure0529, azure0128, ""
	messages := `"messages":[{"role":"user","content":"q"}]`
	cases := []struct {
		name    string
		body    string
		headers []string
		want    string
		status  int
	}{
		{"1 header azure-0529", `{` + messages + `,"stream":true}`, []string{"X-Chat-Protocol", "azure-0529"}, v0529, 200},
		{"1 header azure-0128", `{` + messages + `}`, []string{"X-Chat-Protocol", "azure-0128"}, v0128, 200},
		{"1 header decides over both keys", `{"message":"q",` + messages + `}`, []string{"X-Chat-Protocol", "azure-0529"}, v0529, 200},
		{"1 header of another name", `{` + messages + `}`, []string{"X-Chat-Protocol", "chatui"}, none, 400},
		{"1 header empty", `{` + messages + `}`, []string{"X-Chat-Protocol", ""}, none, 400},
		{"1 unknown header before the content type", `x`, []string{"X-Chat-Protocol", "x", "Content-Type", "text/plain"}, none, 400},
		{"2 text", `{` + messages + `}`, []string{"Content-Type", "text/plain"}, none, 415},
		{"2 form", `a=b`, []string{"Content-Type", "application/x-www-form-urlencoded"}, none, 415},
		{"2 broken type", `{` + messages + `}`, []string{"Content-Type", ";;"}, none, 415},
		{"2 another charset", `{` + messages + `}`, []string{"Content-Type", "application/json; charset=utf-16"}, none, 415},
		{"2 compressed", "\x1f\x8b", []string{"Content-Encoding", "gzip"}, none, 415},
		{"2 said to be compressed", `{` + messages + `}`, []string{"Content-Type", "application/json", "Content-Encoding", "br"}, none, 415},
		{"2 not compressed", `{` + messages + `}`, []string{"Content-Encoding", "Identity"}, v0529, 200},
		{"2 JSON with charset", `{` + messages + `}`, []string{"Content-Type", "Application/JSON; charset=UTF-8"}, v0529, 200},
		{"2 JSON suffix", `{` + messages + `}`, []string{"Content-Type", "application/problem+json"}, v0529, 200},
		{"2 no type", `{` + messages + `}`, nil, v0529, 200},
		{"3 both keys", `{"message":"q",` + messages + `}`, nil, none, 400},
		{"3 both keys, one null", `{"message":null,` + messages + `}`, nil, none, 400},
		{"5 stream true", `{` + messages + `,"stream":true}`, nil, v0128, 200},
		{"5 stream false", `{` + messages + `,"stream":false}`, nil, v0128, 200},
		{"5 stream null", `{"stream":null,` + messages + `}`, nil, v0128, 200},
		{"6 no stream", `{` + messages + `}`, nil, v0529, 200},
		{"6 a nested stream does not count", `{` + messages + `,"context":{"stream":true}}`, nil, v0529, 200},
		{"6 input and no messages", `{"input":[{"role":"user","content":"q"}]}`, nil, v0529, 200},
		{"6 input, whatever stream says", `{"input":"q","stream":true}`, nil, v0529, 200},
		{"6 input beside messages", `{"input":"q",` + messages + `}`, nil, v0529, 200},
		{"5 input beside messages and stream", `{"input":"q",` + messages + `,"stream":true}`, nil, v0128, 200},
		{"7 input beside a message that is no string", `{"input":"q","message":{}}`, nil, none, 400},
		{"7 message is an object", `{"message":{}}`, nil, none, 400},
		{"7 stream alone", `{"stream":true}`, nil, none, 400},
		{"7 empty object", `{}`, nil, none, 400},
		{"7 array", `[]`, nil, none, 400},
		{"7 string", `"messages"`, nil, none, 400},
		{"7 empty body", ``, nil, none, 400},
		{"7 not JSON", `{"messages":`, nil, none, 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []string{"/chat", "/chat/", "/ask"} {
				adapter := &catcher{}
				w := do(newServer(t, options{wrap: adapter.wrap}), http.MethodPost, path, c.body, c.headers...)
				if w.Code != c.status {
					t.Fatalf("%s: status %d, want %d: %s", path, w.Code, c.status, w.Body)
				}
				if c.want == none {
					if adapter.got != nil {
						t.Errorf("%s: the adapter was called with %+v", path, adapter.got)
					}
					errorOf(t, w.Body.Bytes())
					continue
				}
				want := &seen{Pattern: "POST " + strings.TrimSuffix(path, "/"), Speaks: c.want, Body: c.body}
				if diff := cmp.Diff(want, adapter.got); diff != "" {
					t.Errorf("%s: the adapter got (-want +got)\n%s", path, diff)
				}
			}
		})
	}
}

func TestDispatch_GivesAStringAsMessageToChatWithRAG(t *testing.T) {
	for name, headers := range map[string][]string{
		"1 by the header": {"X-Chat-Protocol", "ragchat"},
		"4 by the body":   nil,
	} {
		for _, path := range []string{"/chat", "/chat/", "/ask"} {
			adapter := &catcher{}
			w := do(newServer(t, options{wrap: adapter.wrap}), http.MethodPost, path, `{"message":"What is covered?"}`, headers...)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"answer":"Everything."`) || adapter.got != nil {
				t.Errorf("%s, %s: status %d, %s", name, path, w.Code, w.Body)
			}
		}
	}
	w := do(newServer(t, options{}), http.MethodPost, "/chat", question, "X-Chat-Protocol", "ragchat")
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"detail":[{"loc":["body","message"]`) {
		t.Errorf("the header does not decide over the body: status %d, %s", w.Code, w.Body)
	}
}

func TestDispatch_HandsMultipartToTheAdapterOf0529Only(t *testing.T) {
	var form bytes.Buffer
	mw := multipart.NewWriter(&form)
	if err := mw.WriteField("json", question); err != nil {
		t.Fatal(err)
	}
	if err := mw.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range postPaths(newServer(t, options{})) {
		adapter := &catcher{}
		w := do(newServer(t, options{wrap: adapter.wrap}), http.MethodPost, path, form.String(),
			"Content-Type", mw.FormDataContentType())
		if strings.Contains(path, "0128") || strings.Contains(path, "/p/responses/") {
			if w.Code != http.StatusUnsupportedMediaType || adapter.got != nil {
				t.Errorf("%s: status %d, adapter %+v", path, w.Code, adapter.got)
			}
			continue
		}
		if w.Code != http.StatusOK || adapter.got == nil || !adapter.got.IsForm || adapter.got.Body != form.String() {
			t.Errorf("%s: status %d, adapter %+v", path, w.Code, adapter.got)
		}
	}
	w := do(newServer(t, options{}), http.MethodPost, "/chat", form.String(),
		"Content-Type", mw.FormDataContentType(), "X-Chat-Protocol", "azure-0128")
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("multipart as azure-0128: status %d", w.Code)
	}
}

func TestRoutes_OfOneProtocolDoNotLookAtTheBody(t *testing.T) {
	for _, path := range []string{
		"/chat/stream", "/p/azure-0529/chat", "/p/azure-0529/chat/stream", "/p/azure-0128/chat", "/api/chat", "/api/chat/stream",
		"/p/responses/chat", "/p/responses/chat/stream",
	} {
		for _, path := range slashed(path) {
			if path == "/api/chat" {
				continue // the Chat UI's
			}
			adapter := &catcher{}
			body := `{"message":"q","stream":true}`
			w := do(newServer(t, options{wrap: adapter.wrap}), http.MethodPost, path, body)
			if w.Code != http.StatusOK {
				t.Errorf("%s: status %d", path, w.Code)
			}
			if diff := cmp.Diff(&seen{Pattern: "POST " + strings.TrimSuffix(path, "/"), Body: body}, adapter.got); diff != "" {
				t.Errorf("%s: the adapter got (-want +got)\n%s", path, diff)
			}
		}
	}
}

func FuzzDispatch(f *testing.F) {
	for _, seed := range []string{question, `{"message":"q"}`, `{"messages":[],"stream":null}`, `{}`, `[`, "\xff", `{"a":NaN}`} {
		f.Add("", "application/json", []byte(seed))
	}
	f.Add("azure-0128", "text/plain; charset=", []byte(question))
	f.Add("ragchat", "multipart/form-data; boundary=x", []byte("--x--"))
	s := newServer(f, options{})
	f.Fuzz(func(t *testing.T, protocol, contentType string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/chat", bytes.NewReader(body))
		if protocol != "" {
			r.Header["X-Chat-Protocol"] = []string{protocol}
		}
		r.Header["Content-Type"] = []string{contentType}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge,
			http.StatusUnprocessableEntity:
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
