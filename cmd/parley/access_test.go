package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/retrieval"
	"parley/test/needs"
)

const accessPath = "/api/namespaces/default/access"

// filed is a file that the program reads: it belongs to nobody, and its rights are those that it says.
func (m *matrix) filed(id, name, text string, says access.List) {
	m.t.Helper()
	sum, _, err := m.serving.db.Blobs().Put(m.t.Context(), strings.NewReader(text))
	if err == nil {
		err = m.serving.corpus.Apply(m.t.Context(), retrieval.Batch{Namespace: "default", Put: []retrieval.Put{{
			Document: retrieval.Document{ID: id, Name: name, Title: name, MediaType: "text/plain", SHA256: sum, Pages: 1, IndexedAt: time.Now(), Access: says},
			Pages:    []retrieval.Page{{Number: 1, Text: text}},
			Chunks:   []retrieval.Chunk{{Text: text, Spans: []retrieval.Span{{Page: 1, End: len(text)}}, Tokens: 8}}}}})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// seen says by which ways a caller reads a document whose text has a word that stands nowhere else.
func (m *matrix) seen(key, id, name, word, secret string) (ways []string) {
	for way, c := range map[string]struct{ method, path, body string }{
		"/chat":                {"POST", "/chat", `{"message":"Where is the ` + word + ` kept?"}`},
		"/v1/chat/completions": {"POST", "/v1/chat/completions", `{"model":"parley","messages":[{"role":"user","content":"Where is the ` + word + ` kept?"}]}`},
		"/search":              {"POST", "/search", `{"query":"` + word + `"}`},
		"/mcp":                 {"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"` + word + `"}}}`},
		"mcp resource":         {"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"parley://default/` + name + `"}}`},
		"original":             {"GET", "/content/" + name, ""},
		"document":             {"GET", "/api/documents/" + id, ""},
		"chunks":               {"GET", "/api/documents/" + id + "/chunks", ""},
		"page":                 {"GET", "/api/documents/" + id + "/pages/1", ""},
		"list":                 {"GET", "/api/documents", ""},
	} {
		w := m.as(key, c.method, c.path, c.body, "application/json")
		needle := secret
		if way == "document" || way == "list" {
			needle = id
		}
		if w.Code == http.StatusOK && strings.Contains(w.Body.String(), needle) {
			ways = append(ways, way)
		}
	}
	return ways
}

// A rule counts at once in every way to a document, also after its file was read again, and nothing that files say is lost.
func TestAccess_RulesCountAtOnceEverywhere(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	m := newMatrix(t)
	const ways, word, id, name = 10, "zanzibarquartz", "01M83000000000000000RULED", "hr/pay/zanzibar.txt"
	read := func(says access.List) { m.filed(id, name, "The "+word+" is kept in the green cupboard.", says) }
	read(access.List{})
	ann, bob := "key:"+apikey.IDOf(m.reader), "key:"+apikey.IDOf(m.other)
	all, onlyAnn, onlyBob, nobody := [2]bool{true, true}, [2]bool{true, false}, [2]bool{false, true}, [2]bool{}
	rule := func(method, target, body string) func() {
		return func() {
			t.Helper()
			if w := m.as(m.admin, method, target, body, "application/json"); w.Code != http.StatusOK {
				t.Fatalf("%s %s %s: %d %s", method, target, body, w.Code, w.Body)
			}
		}
	}
	for _, step := range []struct {
		doing string
		do    func()
		want  [2]bool // ann, bob
	}{
		{"the file restricts nothing", func() {}, all},
		{"the folder is for ann", rule("PUT", accessPath, `{"folder":"hr","users":["`+ann+`"]}`), onlyAnn},
		{"the file is read again, for bob", func() { read(access.List{Users: []string{bob}}) }, onlyAnn},
		{"an outer folder is public", rule("PUT", accessPath, `{"folder":"/","everybody":"public"}`), onlyAnn},
		{"another folder", rule("PUT", accessPath, `{"folder":"hr0","users":["`+bob+`"]}`), onlyAnn},
		{"an inner folder is for a group of nobody", rule("PUT", accessPath, `{"folder":"/hr/pay/","groups":["board"]}`), nobody},
		{"the document is for bob", rule("PUT", accessPath, `{"document":"`+name+`","users":["`+bob+`"]}`), onlyBob},
		{"the file is read again, for all", func() { read(access.List{}) }, onlyBob},
		{"the document is for everybody signed in", rule("PUT", accessPath, `{"document":"`+name+`","everybody":"signed_in"}`), all},
		{"no longer", rule("DELETE", accessPath+"?document="+name, ""), nobody},
		{"the inner folder neither", rule("DELETE", accessPath+"?folder=hr/pay", ""), onlyAnn},
		{"the file is read again, for bob", func() { read(access.List{Users: []string{bob}}) }, onlyAnn},
		{"the folder neither", rule("DELETE", accessPath+"?folder=hr", ""), all},
		{"no rule is left", rule("DELETE", accessPath+"?folder=/", ""), onlyBob},
	} {
		step.do()
		for i, key := range []string{m.reader, m.other} {
			if got := m.seen(key, id, name, word, "cupboard"); len(got) != map[bool]int{true: ways}[step.want[i]] {
				t.Errorf("%s: caller %d reads it by %q", step.doing, i, got)
			}
		}
	}
}

// An upload belongs to somebody: the rules of folders do not open it, its own does, and it ends with the upload.
func TestAccess_FoldersDoNotOpenUploads(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	put := func(body string) {
		t.Helper()
		if w := m.as(m.admin, "PUT", accessPath, body, "application/json"); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	id, name := m.ids["document"], m.ids["name"]
	reads := func(key string) bool {
		return len(m.seen(key, id, name, canary, "is secret")) > 0
	}
	if put(`{"folder":"/","everybody":"public"}`); reads(m.other) || !reads(m.owner) {
		t.Error("a rule of the namespace opens an upload")
	}
	put(`{"document":"` + name + `","users":["key:` + apikey.IDOf(m.other) + `"]}`)
	if !reads(m.other) || !reads(m.owner) {
		t.Error("its rule does not open an upload, or hides it from its owner")
	}
	w := m.as(m.admin, "GET", accessPath+"?document="+name, "", "")
	var told struct {
		From  string
		Files struct{ Users []string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || told.From != "document" || len(told.Files.Users) != 1 || told.Files.Users[0] != m.ownerID {
		t.Errorf("%v %s", err, w.Body)
	}
	if err := m.serving.corpus.Apply(t.Context(), retrieval.Batch{Namespace: "default", Delete: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if w := m.as(m.admin, "GET", accessPath, "", ""); strings.Contains(w.Body.String(), name) {
		t.Errorf("the rule of an upload that is gone: %s", w.Body)
	}
}

func TestAccess_OnlyOwnersOfTheNamespaceChangeRights(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	m.filed("01M83000000000000000OPENED", "open.txt", "Everybody reads this.", access.List{})
	editor, owner := m.member(access.Editor), m.member(access.Owner)
	m.serving.entry.members.Forget()
	put := func(key, body string) int { return m.as(key, "PUT", accessPath, body, "application/json").Code }
	const rule = `{"document":"open.txt","users":["ann"]}`
	long := strings.Repeat("a", 2000)
	for name, c := range map[string]struct{ got, want int }{
		"nobody":                       {put("", rule), 401},
		"a reader":                     {put(m.reader, rule), 403},
		"an editor":                    {put(m.other, rule), 403},
		"an editing member":            {put(editor, rule), 403},
		"the owner of a document":      {put(m.owner, `{"document":"`+m.ids["name"]+`","everybody":"public"}`), 403},
		"another namespace's editor":   {put(m.elsewhere, rule), 403},
		"an owner, elsewhere":          {m.as(owner, "PUT", "/api/namespaces/elsewhere/access", rule, "application/json").Code, 403},
		"a vector store":               {m.as(m.admin, "PUT", "/api/namespaces/vs_1/access", rule, "application/json").Code, 404},
		"an editing member looks":      {m.as(editor, "GET", accessPath, "", "").Code, 403},
		"an owner looks":               {m.as(owner, "GET", accessPath, "", "").Code, 200},
		"an owner":                     {put(owner, rule), 200},
		"an administrator":             {put(m.admin, rule), 200},
		"no such document":             {put(owner, `{"document":"none.txt","users":["ann"]}`), 404},
		"no such document, looked for": {m.as(owner, "GET", accessPath+"?document=none.txt", "", "").Code, 404},
		"a document with a NUL":        {put(owner, `{"document":"a\u0000","users":["ann"]}`), 404},
		"neither":                      {put(owner, `{"users":["ann"]}`), 400},
		"both":                         {put(owner, `{"document":"open.txt","folder":"a","users":["ann"]}`), 400},
		"nobody named":                 {put(owner, `{"document":"open.txt"}`), 400},
		"empty lists":                  {put(owner, `{"document":"open.txt","users":[],"groups":[]}`), 400},
		"named and public":             {put(owner, `{"document":"open.txt","users":["ann"],"everybody":"public"}`), 400},
		"an everybody that is none":    {put(owner, `{"document":"open.txt","everybody":"all"}`), 400},
		"a name of spaces":             {put(owner, `{"document":"open.txt","users":[" "]}`), 400},
		"a name with a control":        {put(owner, `{"document":"open.txt","groups":["a\u0000b"]}`), 400},
		"a long name":                  {put(owner, `{"document":"open.txt","groups":["`+long+`"]}`), 400},
		"many names":                   {put(owner, `{"document":"open.txt","groups":["a"`+strings.Repeat(`,"a"`, 1000)+`]}`), 400},
		"a folder above":               {put(owner, `{"folder":"a/../b","users":["ann"]}`), 400},
		"an empty folder":              {put(owner, `{"folder":"","users":["ann"]}`), 400},
		"a folder with an empty part":  {put(owner, `{"folder":"a//b","users":["ann"]}`), 400},
		"a long folder":                {put(owner, `{"folder":"`+long+`","users":["ann"]}`), 400},
		"a number":                     {put(owner, `{"folder":1,"users":["ann"]}`), 400},
		"a list that is a text":        {put(owner, `{"folder":"a","users":"ann"}`), 400},
		"an unknown member":            {put(owner, `{"folder":"a","users":["ann"],"owner":"ann"}`), 400},
		"a rule that is not there":     {m.as(owner, "DELETE", accessPath+"?folder=none", "", "").Code, 404},
		"a rule of nothing":            {m.as(owner, "DELETE", accessPath, "", "").Code, 400},
		"a document without a rule":    {m.as(owner, "DELETE", accessPath+"?document=plan.txt", "", "").Code, 404},
		"a folder of odd characters":   {put(owner, `{"folder":"a'\"; --%_/*","users":["ann'; --"]}`), 200},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	log := m.as(m.admin, "GET", "/api/audit?limit=10000", "", "").Body.String()
	for _, part := range []string{`rights of \"open.txt\": users [\"ann\"], groups []`, "PUT " + accessPath} {
		if !strings.Contains(log, part) {
			t.Errorf("the audit log lacks %s: %s", part, log)
		}
	}
}
