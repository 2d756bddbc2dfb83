package aisdk

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestClaims_OnlyWhatTheAISDKSends(t *testing.T) {
	const parts = `"parts":[{"type":"text","text":"Hi"}]`
	for body, want := range map[string]bool{
		`{"messages":[{"role":"user",` + parts + `}],"trigger":"submit-message"}`: true,
		`{"trigger":"regenerate-message"}`:                                        true,
		`{"messages":[{"role":"user",` + parts + `}]}`:                            true,
		`{"messages":[{"role":"user","parts":[]}]}`:                               true,
		// Version 4 has both, and cannot read these streams.
		`{"id":"c","messages":[{"role":"user","content":"Hi",` + parts + `}]}`: false,
		`{"messages":[{"role":"user","content":"Hi"}]}`:                        false,
		`{"messages":[{"role":"user","content":"Hi"},{` + parts + `}]}`:        false,
		`{"messages":[{"role":"user","parts":"x"}]}`:                           false,
		`{"messages":[{"parts":null}]}`:                                        false,
		`{"messages":[],"trigger":null}`:                                       false,
		`{"messages":[5],"trigger":5}`:                                         false,
		`{"messages":5}`:                                                       false,
		`{}`:                                                                   false, `[]`: false, `{`: false, ``: false, `null`: false,
	} {
		r := &wire.Request{Request: httptest.NewRequest(http.MethodPost, "/api/chat", nil), Body: []byte(body)}
		if got := claims(r); got != want {
			t.Errorf("%s: %v", body, got)
		}
		r.Header.Set(wire.ProtocolHeader, Speaks)
		if !claims(r) {
			t.Errorf("%s: not claimed with the header", body)
		}
	}
}

// Every request is answered with a stream that ends, or with an error of the protocol.
func FuzzChat(f *testing.F) {
	f.Add(asking)
	f.Add(`{"messages":[{"role":"assistant","parts":[{"type":"dynamic-tool","toolName":"a","toolCallId":"b","state":"output-error"}]}],"tools":{"a":{}}}`)
	f.Add(`{"messages":[{"role":"user","parts":[{"type":"file","url":"data:image/png;base64,AA=="},{"type":"text","text":"a"}]}],"model":"parley/hr","top":"3"}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := send(handlerOf(wiretest.Tokens(1), nil), http.MethodPost, endpoint, body)
		switch got := w.Body.String(); {
		case w.Code == http.StatusOK && strings.HasSuffix(got, "data: [DONE]\n\n"):
		case (w.Code == 400 || w.Code == 404) && strings.HasPrefix(got, `{"error":"`):
		default:
			t.Errorf("%.300q: %d %.300s", body, w.Code, got)
		}
	})
}
