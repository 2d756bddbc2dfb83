package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/internal/chat/chattest"
	"parley/test/needs"
)

// post sends a body as clients do, with further headers in pairs.
func post(h http.Handler, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// internals are words of the SDK and of Go, which mean nothing to clients.
var internals = regexp.MustCompile(`\bmcp\.|jsonrpc2|unmarshal|json: |map\[|interface`)

// checkReply fails the test unless a reply is one that JSON-RPC 2.0 allows. It returns the code of the error, or 0.
func checkReply(t *testing.T, body string, w *httptest.ResponseRecorder) int {
	t.Helper()
	if w.Code == http.StatusAccepted && w.Body.Len() == 0 {
		return 0 // to a notification or a response
	}
	reply := w.Body.String()
	if kind := w.Header().Get("Content-Type"); kind == "text/event-stream" {
		reply = reply[strings.LastIndex(reply, "data: ")+len("data: "):]
	} else if kind != "application/json" {
		t.Fatalf("%.200s: %d, %s: %.200s", body, w.Code, kind, reply)
	}
	if strings.HasPrefix(reply, "[") {
		return 0
	}
	var got struct {
		JSONRPC       string
		ID            any
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal([]byte(reply), &got); err != nil || got.JSONRPC != "2.0" || (got.Result == nil) == (got.Error == nil) {
		t.Fatalf("%.200s: %d, %v: %.200s", body, w.Code, err, reply)
	}
	if got.Error == nil {
		return 0
	}
	var e struct {
		Code    int
		Message string
	}
	if err := json.Unmarshal(got.Error, &e); err != nil || e.Code > -32000 || e.Message == "" || internals.MatchString(e.Message) || w.Code >= 500 {
		t.Fatalf("%.200s: %d, %v: %.200s", body, w.Code, err, reply)
	}
	return e.Code
}

func TestEnvelope_IsRefusedInTheShapeOfTheProtocol(t *testing.T) {
	h := serve(newHandler(&chattest.Engine{}, &corpus{}))
	for body, want := range map[string]struct {
		status, code int
		id           string
	}{
		``:                                     {400, -32700, "null"},
		`nope`:                                 {400, -32700, "null"},
		`{"jsonrpc":"2.0","id":1,"method":"pi`: {400, -32700, "null"},
		`{"jsonrpc":"2.0","id":1}{}`:           {400, -32700, "null"},
		`5`:                                    {400, -32600, "null"},
		`[]`:                                   {400, -32600, "null"},
		`[1]`:                                  {400, -32600, "null"},
		`{"id":1,"method":"ping"}`:             {400, -32600, "1"},
		`{"jsonrpc":"1.0","id":"a","method":"ping"}`:                                     {400, -32600, `"a"`},
		`{"jsonrpc":2.0,"id":1,"method":"ping"}`:                                         {400, -32600, "1"},
		`{"jsonrpc":"2.0","id":1}`:                                                       {400, -32600, "1"},
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                    {400, -32600, "null"},
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                     {400, -32600, "null"},
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:                        {400, -32600, "null"},
		`{"jsonrpc":"2.0","id":1,"method":5}`:                                            {400, -32600, "1"},
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`:                          {400, -32600, "1"},
		`{"jsonrpc":"2.0","id":1,"error":5}`:                                             {400, -32600, "1"},
		`{"jsonrpc":"2.0","method":"tools/list"}`:                                        {400, -32600, "null"},
		`{"jsonrpc":"2.0","id":1,"method":"nope"}`:                                       {200, -32601, "1"},
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`: {200, -32601, "1"},
		`{"jsonrpc":"2.0","method":"nope"}`:                                              {400, -32601, "null"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`:             {200, -32602, "1"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`:        {200, -32602, "1"},
		`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"@"}}`:     {200, -32602, "1"},
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":1,"method":"ping"}]`:            {400, -32600, "null"},
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxBody) + `"}`:       {413, -32600, "null"},
	} {
		w := post(h, body)
		if code := checkReply(t, body, w); w.Code != want.status || code != want.code || !strings.Contains(w.Body.String(), `"id":`+want.id+`,`) {
			t.Errorf("%.200s: %d %d, want %+v: %.200s", body, w.Code, code, want, w.Body)
		}
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, header := range [][]string{
		{"Accept", "text/html"}, {"Mcp-Protocol-Version", "1999-01-01"}, {"Mcp-Protocol-Version", "2026-07-28"}, {"Last-Event-Id", "4"},
		{"Content-Type", "text/plain"}, {"Content-Encoding", "gzip"},
	} {
		if code := checkReply(t, ping, post(h, ping, header...)); code == 0 {
			t.Errorf("%q was accepted", header)
		}
	}
	if code := checkReply(t, ping, post(h, ping, "Content-Type", "application/vnd.a+json")); code != 0 {
		t.Errorf("a type of JSON was refused: %d", code)
	}
	batch := `[` + ping + `]`
	if code := checkReply(t, batch, post(h, batch, "Mcp-Protocol-Version", "2025-06-18")); code != invalidRequest {
		t.Errorf("a batch of a version without batches: %d", code)
	}
}

// messages are requests whose parts are replaced by what they may not be.
var messages = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
	`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"search","arguments":{"query":"leave","limit":2},"_meta":{"progressToken":1}}}`,
	`{"jsonrpc":"2.0","id":3,"method":"resources/list","params":{"cursor":"YQ"}}`,
	`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"parley://default/a.pdf"}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}`,
	`{"jsonrpc":"2.0","id":4,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"a"},"argument":{"name":"n","value":"v"}}}`,
	`{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"debug"}}`,
	`{"jsonrpc":"2.0","id":5,"result":{}}`,
	`{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m"}}`,
}

// values are of every kind; the empty one stands for none.
var values = []string{
	``, `null`, `true`, `0`, `-1`, `1.5`, `1e400`, `123456789012345678901234567890`, `""`, `"x"`, `"2.0"`, `[]`, `{}`, `[null]`, `[{}]`, `{"a":[1]}`,
}

func TestMessages_WithAnyPartReplacedAreAnsweredInTheShapeOfTheProtocol(t *testing.T) {
	needs.Long(t)
	h := serve(newHandler(&chattest.Engine{}, &corpus{}))
	part := regexp.MustCompile(`("[A-Za-z_]+"):("[^"]*"|[0-9]+|\{[^{}]*\})`)
	for _, message := range messages {
		for again := message; ; {
			for _, at := range part.FindAllStringSubmatchIndex(again, -1) {
				for _, v := range values {
					body := again[:at[4]] + v + again[at[5]:]
					if v == "" {
						body = strings.Replace(again[:at[0]]+`"other":0`+again[at[1]:], "other", "other"+strconv.Itoa(at[0]), 1)
					}
					for _, version := range []string{"", "2025-06-18", "2026-07-28"} {
						checkReply(t, body, post(h, body, "Mcp-Protocol-Version", version))
					}
					checkReply(t, body, post(h, "["+body+"]"))
				}
			}
			// Then what holds these parts.
			inner := regexp.MustCompile(`\{[^{}]*\}`).FindStringIndex(again)
			if inner == nil || inner[0] == 0 {
				break
			}
			again = again[:inner[0]] + "9" + again[inner[1]:]
		}
	}
}

func FuzzMessages_AreAnsweredInTheShapeOfTheProtocol(f *testing.F) {
	for _, message := range slices.Concat(messages, values) {
		f.Add(message, "")
		f.Add("["+message+"]", "2025-06-18")
	}
	h := serve(newHandler(&chattest.Engine{}, &corpus{}))
	f.Fuzz(func(t *testing.T, body, version string) {
		checkReply(t, body, post(h, body, "Mcp-Protocol-Version", version))
	})
}
