package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/audit"
	"parley/internal/auth/apikey"
)

// exported returns the audit log as an administrator reads it, each entry as "action subject what object status".
func exported(t *testing.T, s *wholeServer, query string) (all []string, raw string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/audit"+query, nil)
	r.Header.Set("X-API-Key", s.admin)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	raw = w.Body.String()
	lines := bufio.NewScanner(strings.NewReader(raw))
	for lines.Scan() {
		var e audit.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		object, _, _ := strings.Cut(e.Object, ":")
		object, _, _ = strings.Cut(object, " ")
		all = append(all, strings.Join([]string{string(e.Action), strings.TrimRight(e.Subject, "0123456789abcdefghijklmnopqrstuvwxyz"), e.What, object, http.StatusText(e.Status)}, "|"))
	}
	return all, raw
}

func TestAudit_TellsWhoDidWhatAndNoSecrets(t *testing.T) {
	t.Parallel()
	s := newWholeServer(t, func(c *Config) { c.AuthAnonymous = settingOff })
	editor := newKey(t, s.serving.instance, apikey.Key{Role: access.Editor})
	do := func(key, method, target, contentType, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const json = "application/json"
	do("", http.MethodPost, "/chat", json, `{"messages":[{"role":"user","content":"`+canary+`"}]}`)
	do(editor, http.MethodPost, "/chat", json, `{"messages":[{"role":"user","content":"`+canary+`"}]}`)
	do(editor, http.MethodGet, "/api/keys", json, "")
	form, contentType := formOf(t, "travel.md")
	do(editor, http.MethodPost, "/upload", contentType, form)
	do(editor, http.MethodPost, "/delete_uploaded", json, `{"filename":"nothing.md"}`)
	made := do(s.admin, http.MethodPost, "/api/keys", json, `{"role":"reader"}`)
	const encoded = "application/x-www-form-urlencoded"
	do("", http.MethodPost, "https://example.com/sign-in", encoded, "key=parley_wrong_secret")
	w := do("", http.MethodPost, "https://example.com/sign-in", encoded, url.Values{"key": {editor}}.Encode())
	r := httptest.NewRequest(http.MethodPost, "https://example.com/sign-out", nil)
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	s.ServeHTTP(httptest.NewRecorder(), r)
	got, raw := exported(t, s, "")
	want := []string{
		"refused||POST /chat||Unauthorized", "refused|key:|GET /api/keys||Forbidden", "change|key:|POST /upload|job|OK",
		"change|key:|POST /delete_uploaded|nothing.md|Not Found", "change|key:|POST /api/keys|key|Created", "refused||POST /sign-in|a|",
		"sign-in|key:|POST /sign-in|key|", "sign-out|key:|POST /sign-out||",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, secret := range []string{editor, s.admin, canary, "wrong_secret", "parley_"} {
		if strings.Contains(raw, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(made.Body.String(), "parley_") || !strings.Contains(raw, "192.0.2.1") || !strings.Contains(raw, "travel.md") {
		t.Errorf("%s", raw)
	}
	if page, _ := exported(t, s, "?limit=2&action=change"); len(page) != 2 {
		t.Errorf("a page has %q", page)
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?from=yesterday", "?to=1", "?action=everything"} {
		if w := do(s.admin, http.MethodGet, "/api/audit"+query, json, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

func TestAudit_HasWhatCommandsChange(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	do := func(args ...string) string {
		var out, complaints bytes.Buffer
		if code := run(t.Context(), append(args, "--data", data), &out, &complaints, environment(nil)); code != 0 {
			t.Fatalf("%v: %d %s", args, code, complaints.String())
		}
		return strings.TrimSpace(out.String())
	}
	key := do("keys", "create")
	do("keys", "revoke", key)
	do("sessions", "end", "--user", "ann")
	lines := strings.Split(do("audit"), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"what":"parley keys create"`) || !strings.Contains(lines[1], apikey.IDOf(key)) ||
		!strings.Contains(lines[2], `"subject":"local:`) || strings.Contains(strings.Join(lines, ""), key) {
		t.Errorf("%q", lines)
	}
	if one := do("audit", "--action", "sign-in"); one != "" {
		t.Errorf("%q", one)
	}
}
