package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
)

// Owners and administrators write the instructions of a namespace; all who may ask it read them; nobody else sees them.
func TestInstructions_AreWrittenByOwnersAndReadByThoseWhoMayAsk(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	const text = "Name the paragraph.\nBe formal, and do not say " + canary + "."
	put := func(key, namespace, body string) (int, string) {
		w := m.as(key, http.MethodPut, "/api/namespaces/"+namespace+"/instructions", body, "application/json")
		return w.Code, w.Body.String()
	}
	body, err := json.Marshal(map[string]string{"text": "  " + text + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"an editor": m.owner, "a reader": m.reader, "an editor of another namespace": m.elsewhere} {
		if code, answer := put(key, "default", string(body)); code != http.StatusForbidden {
			t.Errorf("%s writes: %d %s", name, code, answer)
		}
	}
	member := access.Member{Namespace: "default", Name: m.ownerID, Role: access.Owner}
	if err := m.serving.db.Members().Put(t.Context(), member, time.Now()); err != nil {
		t.Fatal(err)
	}
	m.serving.entry.members.Forget()
	for name, bad := range map[string]string{
		"nothing": `{}`, "a number": `{"text":7}`, "null": `{"text":null}`, "a list": `[]`, "too long": `{"text":"` + strings.Repeat("x", 8<<10+1) + `"}`, "an escape": `{"text":"a\u001bb"}`,
	} {
		if code, answer := put(m.owner, "default", bad); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, code, answer)
		}
	}
	if code, answer := put(m.owner, "vs_1", string(body)); code != http.StatusNotFound {
		t.Errorf("a vector store: %d %s", code, answer)
	}
	if code, answer := put(m.owner, "default", string(body)); code != http.StatusOK {
		t.Fatalf("the owner writes: %d %s", code, answer)
	}
	read := func(key string) (int, string) {
		w := m.as(key, http.MethodGet, "/api/namespaces/default/instructions", "", "")
		var got struct{ Text string }
		_ = json.Unmarshal(w.Body.Bytes(), &got)
		return w.Code, got.Text
	}
	if code, got := read(m.owner); code != http.StatusOK || got != text {
		t.Errorf("the owner reads: %d %q", code, got)
	}
	for name, key := range map[string]string{"somebody who is no member": m.reader, "an editor of another namespace": m.elsewhere} {
		if code, got := read(key); code != http.StatusNotFound || got != "" {
			t.Errorf("%s reads: %d %q", name, code, got)
		}
	}
	for name, key := range map[string]string{"a member": m.owner, "an administrator": m.admin} {
		if code, _ := read(key); code != http.StatusOK {
			t.Errorf("%s reads: %d", name, code)
		}
	}
	if code, _ := put(m.admin, "default", `{"text":" "}`); code != http.StatusOK {
		t.Errorf("an administrator removes: %d", code)
	}
	if _, got := read(m.owner); got != "" {
		t.Errorf("removed, but %q is left", got)
	}
	if log := m.as(m.admin, http.MethodGet, "/api/audit?action=change&limit=10000", "", "").Body.String(); !strings.Contains(log, "instructions removed") || strings.Contains(log, "Name the paragraph") {
		t.Errorf("the audit log: %s", log)
	}
}

// Without sign-in, everybody who may change the documents of a namespace may write its instructions, and is told so.
func TestInstructions_AreWrittenByThePersonOfAMachineOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uploads string
		member  bool
		want    int
	}{
		"alone on this machine":    {settingAuto, false, http.StatusOK},
		"where nobody may upload":  {settingOff, false, http.StatusForbidden},
		"a namespace with members": {settingAuto, true, http.StatusNotFound},
	} {
		s := newWholeServer(t, func(cfg *Config) { cfg.UploadsEnabled = c.uploads })
		if c.member {
			if err := s.serving.db.Members().Put(t.Context(), access.Member{Namespace: "default", Name: "ann", Role: access.Owner}, time.Now()); err != nil {
				t.Fatal(err)
			}
			s.serving.entry.members.Forget()
		}
		request := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		if w := request(http.MethodPut, "/api/namespaces/default/instructions", `{"text":"Be formal."}`); w.Code != c.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		told := request(http.MethodGet, "/api/namespaces", "").Body.String()
		if strings.Contains(told, `"instruct":true`) != (c.want == http.StatusOK) {
			t.Errorf("%s: %s", name, told)
		}
		if w := request(http.MethodPut, "/api/namespaces/default/members", `{"user":"ann","role":"owner"}`); w.Code != http.StatusUnauthorized {
			t.Errorf("%s adds a member: %d", name, w.Code)
		}
	}
}
