package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/auth/apikey"
)

// serveWithRoles serves two documents, of which one is below wages/, to people with keys: an administrator and two readers.
func serveWithRoles(t *testing.T, env []string, more ...string) (addr string, keys map[string]string) {
	t.Helper()
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(filepath.Join(docs, "wages"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"skagen.md":      "# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n",
		"wages/wages.md": "# Wages\n\nThe keeper earns 4711 kroner.\n",
	} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys = map[string]string{}
	for _, name := range []string{"admin", "owner", "reader"} {
		role := map[string]string{"admin": "administrator"}[name]
		if role == "" {
			role = "reader"
		}
		var out, complaints bytes.Buffer
		if code := run(t.Context(), []string{"keys", "create", "--data", data, "--role", role}, &out, &complaints, environment(nil)); code != 0 {
			t.Fatal(complaints.String())
		}
		keys[name] = strings.TrimSpace(out.String())
	}
	p := serveIngested(t, env, append(more, "--data", data, docs)...)
	return p.addr, keys
}

func TestPage_SharesAConversationByALink(t *testing.T) {
	pageTest(t)
	addr, keys := serveWithRoles(t, nil)
	body := `{"folder":"wages","users":["key:` + apikey.IDOf(keys["owner"]) + `"]}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+addr+"/api/namespaces/default/access", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+keys["admin"])
	r.Header.Set("Content-Type", "application/json")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if w.Body.Close(); w.StatusCode != http.StatusOK {
		t.Fatal(w.Status)
	}
	var got struct {
		Findings                            []string
		SameOrigin, Secret                  bool
		Marked, Messages, LeftOut, Editable int
		Stays, Later                        int
		Answer, Opened, Revoked             string
		Seen                                seenOnPage
	}
	onPage(t, "share", addr, map[string]any{"owner": keys["owner"], "reader": keys["reader"], "shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	if !got.SameOrigin || got.Marked != 1 {
		t.Errorf("a link of this server: %v; marks in the list: %d", got.SameOrigin, got.Marked)
	}
	if got.Secret || got.LeftOut != 1 || got.Messages != 122 || !strings.Contains(got.Answer, "It is tall") || got.Editable != 0 {
		t.Errorf("the reader sees: %+v", got)
	}
	if !strings.Contains(got.Opened, "Skagen") || got.Stays != 1 || got.Later != 0 || !strings.Contains(got.Revoked, "no conversation") {
		t.Errorf("opened %q, then %d; later messages %d; revoked: %q", got.Opened, got.Stays, got.Later, got.Revoked)
	}
}

func TestPage_ManagersSayWhoMaySeeDocuments(t *testing.T) {
	pageTest(t)
	addr, keys := serveWithRoles(t, nil)
	options := map[string]any{"readerID": apikey.IDOf(keys["reader"]), "shots": os.Getenv("PARLEY_UI_SHOTS")}
	for name, key := range keys {
		options[name] = key
	}
	var got struct {
		Findings, Document, Folder, Members []string
		From, Reset, Without, Refused       string
		Nobody                              bool
		Others                              int
		Seen                                seenOnPage
	}
	onPage(t, "rights", addr, options, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	const all = "Skagen,Wages"
	if !strings.Contains(got.From, "file itself") || !got.Nobody || strings.Join(got.Document, "|") != "Skagen|"+all || got.Reset != all {
		t.Errorf("rights of a document: %q, none named %v, owner and reader see %q, then %q", got.From, got.Nobody, got.Document, got.Reset)
	}
	if !strings.Contains(got.Folder[0], "group CN=keepers,DC=skagen") || got.Folder[1] != "Skagen" || got.Without != all || !strings.Contains(got.Refused, "not a folder") {
		t.Errorf("rights of a folder: %q, without them %q, a bad one: %q", got.Folder, got.Without, got.Refused)
	}
	if got.Members[0] == all || got.Members[1] != all || got.Others != 0 {
		t.Errorf("the owner and a member see %q; menus of somebody else: %d", got.Members, got.Others)
	}
}

func TestPage_ShowsFormulasAndLeavesPrices(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, "--data", t.TempDir())
	var got struct {
		Formulas        int
		Namespace, Text string
		Drawn           bool
		Violations      []string
		Seen            seenOnPage
	}
	onPage(t, "math", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, violation := range got.Violations {
		t.Error(violation)
	}
	if got.Formulas != 5 || got.Namespace != "http://www.w3.org/1998/Math/MathML" || !got.Drawn {
		t.Errorf("%d formulas of %q, drawn: %v", got.Formulas, got.Namespace, got.Drawn)
	}
	if !strings.Contains(got.Text, `between $5 and $6. Unknown: $\href{javascript:__ran()}{x}$.`) {
		t.Errorf("what is no formula: %q", got.Text)
	}
}
