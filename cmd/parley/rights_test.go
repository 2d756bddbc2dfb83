package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/auth/apikey"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/test/needs"
)

// canary is in everything that belongs to the owner of the matrix, and in no request of others.
const canary = "xylophonequartz"

// matrix is a server to which callers of all kinds make all requests (rows S1 to S3).
type matrix struct {
	*wholeServer
	t      testing.TB
	bodies map[string]string // by method and path of the route's pattern, as openapi.json has them

	owner, ownerID, other, reader, elsewhere string // keys; all but reader are editors
	ids                                      map[string]string
}

// idOf says what the first placeholder of a path names. A route with a placeholder that fits no row fails the test.
var idOf = []struct{ path, kind string }{
	{"/chat_history/sessions/{id}", "azure chat"},
	{"/chat-history/{id}", "chat"}, {"/api/chats/{id}", "chat"}, {"/api/prompts/{id}", "prompt"}, {"/api/folders/{id}", "folder"}, {"/chat/{session_id}", "session"},
	{"/api/chat/{id}/stream", "stream"}, {"/v1/responses/{id}", "response"}, {"/v1/conversations/{id}", "conversation"},
	{"/v1/files/{", "file"}, {"/v1/uploads/{", "upload"}, {"/v1/vector_stores/{", "store"}, {"/api/v1/knowledge/{id}", "store"},
	{"/p/librechat/documents/{id}", "librechat file"}, {"/api/documents/{id}", "document"}, {"/api/turns/{id}", "turn"}, {"/api/jobs/{id}", "job"}, {"/api/keys/{id}", "key"},
	{"/content/{path...}", "name"}, {"/delete/{url...}", "name"},
	{"/v1/models/{id...}", "model"}, {"/assets/{path...}", "asset"}, {"/v1/chat/completions/{", "completion"},
	{"/sign-in/{provider}", "provider"}, {"/api/shared/{link}", "link"},
	{"/openai/deployments/{name}", "deployment"}, {"/api/namespaces/{name}", "namespace"},
}

// notOwned are the kinds that belong to nobody. Of streams, TestResume_RepeatsAllChunksOfTheAnswerThatIsBeingWritten asks for those of others.
var notOwned = []string{"link", "key", "model", "asset", "completion", "provider", "stream", "deployment", "namespace"}

// second are the placeholders after the first one.
var second = strings.NewReplacer("{n}", "1", "{item}", "msg_1", "{file_id}", "file-1", "{batch_id}", "vsfb_1", "{$}", "")

func newMatrix(t testing.TB) *matrix {
	m := &matrix{wholeServer: newWholeServer(t, func(c *Config) { c.AuthAnonymous = settingOff }), t: t, bodies: map[string]string{}, ids: map[string]string{}}
	in := m.serving.instance
	m.owner = newKey(t, in, apikey.Key{Role: access.Editor})
	m.ownerID = "key:" + apikey.IDOf(m.owner)
	m.other = newKey(t, in, apikey.Key{Role: access.Editor})
	m.reader = newKey(t, in, apikey.Key{Role: access.Reader})
	m.elsewhere = newKey(t, in, apikey.Key{Role: access.Editor, Namespaces: []string{"elsewhere"}})
	mux := http.NewServeMux()
	for _, rt := range m.routes {
		method, path, _ := strings.Cut(rt.Pattern, " ")
		if rt.Speaks == "" || m.bodies[rt.Pattern] == "" {
			m.bodies[rt.Pattern] = "{}"
		}
		_, pattern := mux.Handler(httptest.NewRequest(method, strings.NewReplacer("{", "", "}", "", "...", "", "$", "").Replace(path), nil))
		if pattern != rt.Pattern {
			mux.Handle(rt.Pattern, http.NotFoundHandler())
		}
	}
	for _, op := range m.api.operations(t, true) {
		if _, pattern := mux.Handler(httptest.NewRequest(op.method, op.target, nil)); pattern != "" && len(op.bodies) > 0 {
			m.bodies[pattern] = op.bodies[0]
		}
	}
	m.own()
	return m
}

// own stores something of each kind for the owner.
func (m *matrix) own() {
	sum, _, err := m.serving.db.Blobs().Put(m.t.Context(), strings.NewReader("The "+canary+" is secret."))
	if err != nil {
		m.t.Fatal(err)
	}
	err = m.serving.corpus.Apply(m.t.Context(), retrieval.Batch{Namespace: "default", Put: []retrieval.Put{{
		Document: retrieval.Document{ID: "01M83000000000000000SECRET", Name: canary + ".txt", Title: canary, Owner: m.ownerID, MediaType: "text/plain", SHA256: sum,
			Attributes: attribute.Values{"secret": canary}.Encode(), Pages: 1, IndexedAt: time.Now(), Access: access.List{Users: []string{m.ownerID}}},
		Pages:  []retrieval.Page{{Number: 1, Text: "The " + canary + " is secret."}},
		Chunks: []retrieval.Chunk{{Text: "The " + canary + " is secret.", Spans: []retrieval.Span{{Page: 1, End: 30}}, Tokens: 8}},
	}}})
	if err != nil {
		m.t.Fatal(err)
	}
	const question = `"messages":[{"role":"user","content":"What is the ` + canary + `?"}]`
	m.ids["document"], m.ids["name"], m.ids["key"] = "01M83000000000000000SECRET", canary+".txt", apikey.IDOf(m.admin)
	m.ids["azure chat"] = "azure-chat-0001"
	m.ids["session"] = m.made("POST", "/chat/session", `{}`, "session_id")
	m.made("POST", "/chat/"+m.ids["session"], `{"message":"What is the `+canary+`?"}`, "")
	m.made("POST", "/chat_history", `{"id":"azure-chat-0001","answers":[["What is the `+canary+`?",{"message":{"content":"`+canary+`","role":"assistant"}}]]}`, "")
	m.ids["chat"] = m.made("POST", "/chat-history", `{`+question+`}`, "id")
	m.ids["prompt"] = m.made("POST", "/api/prompts", `{"text":"`+canary+`"}`, "id")
	m.ids["folder"] = m.made("POST", "/api/folders", `{"name":"`+canary+`"}`, "id")
	m.ids["response"] = m.made("POST", "/v1/responses", `{"model":"parley","input":"What is the `+canary+`?"}`, "id")
	m.ids["conversation"] = m.made("POST", "/v1/conversations", `{"items":[{"type":"message","role":"user","content":"`+canary+`"}]}`, "id")
	m.made("POST", "/history/generate", `{`+question+`}`, "")
	w := m.as(m.owner, "POST", "/chat", `{`+question+`}`, "application/json")
	m.ids["turn"] = w.Header().Get("X-Turn-Id")
	m.ids["upload"] = m.made("POST", "/v1/uploads", `{"filename":"`+canary+`.txt","bytes":1,"mime_type":"text/plain","purpose":"assistants"}`, "id")
	m.ids["store"] = m.made("POST", "/v1/vector_stores", `{"name":"`+canary+`"}`, "id")
	form, contentType := formOf(m.t, canary+"-upload.md")
	var j struct {
		ID string `json:"job_id"`
	}
	if w = m.as(m.owner, "POST", "/upload", form, contentType); json.Unmarshal(w.Body.Bytes(), &j) != nil || j.ID == "" {
		m.t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	m.ids["job"] = j.ID
	var file struct{ ID string }
	if w = m.as(m.owner, "POST", "/v1/files", form, contentType); json.Unmarshal(w.Body.Bytes(), &file) != nil || file.ID == "" {
		m.t.Fatalf("file: %d %s", w.Code, w.Body)
	}
	m.ids["file"] = file.ID
	m.ownFileOfLibreChat()
	m.ids["model"], m.ids["asset"], m.ids["completion"] = "parley", "nothing", "chatcmpl-1"
	m.ids["provider"] = "corp"
	m.ids["link"] = "01KAS7T3F40G00000000000000000000000000"
	m.ids["stream"] = "chat-1"
	m.ids["deployment"], m.ids["namespace"] = "gpt-4o", "default"
}

// ownFileOfLibreChat stores a file as LibreChat's rag_api does, which would wait until it is read.
func (m *matrix) ownFileOfLibreChat() {
	l := m.serving.library
	f, err := l.AddNamed(m.t.Context(), m.ownerID, library.File{ID: "lc-0001", Name: canary + "-lc.md", Purpose: "assistants"}, strings.NewReader(canary))
	if err != nil {
		m.t.Fatal(err)
	}
	home, err := l.Home(m.t.Context(), m.ownerID, "librechat")
	if err == nil {
		_, err = l.Attach(m.t.Context(), home, []library.Attachment{{File: f.ID}}, "")
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.ids["librechat file"] = f.ID
}

func formOf(t testing.TB, name string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	purpose := form.WriteField("purpose", "assistants")
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = fmt.Fprintf(part, "# %s\n", canary)
	}
	if err != nil || purpose != nil || form.Close() != nil {
		t.Fatal(err)
	}
	return b.String(), form.FormDataContentType()
}

// made makes a request of the owner, which must succeed, and returns a member of the answer.
func (m *matrix) made(method, path, body, member string) string {
	m.t.Helper()
	w := m.as(m.owner, method, path, body, "application/json")
	var answer map[string]any
	if w.Code >= 300 || member != "" && json.Unmarshal(w.Body.Bytes(), &answer) != nil {
		m.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	id, _ := answer[member].(string)
	if member != "" && id == "" {
		m.t.Fatalf("%s %s: no %s in %s", method, path, member, w.Body)
	}
	return id
}

// as makes a request with a key.
func (m *matrix) as(key, method, target, body, contentType string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute) // a guard against streams that do not end
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Prefer", "respond-async")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w
}

// target returns the path of a route with an id, and the kind of that id; "" for a path that names nothing.
func (m *matrix) target(rt wire.Route, missing bool) (path, kind string) {
	_, path, _ = strings.Cut(rt.Pattern, " ")
	path = strings.TrimSuffix(path, "{$}")
	open := strings.IndexByte(path, '{')
	if open < 0 {
		return path, ""
	}
	for _, row := range idOf {
		if strings.Contains(path, row.path) {
			kind = row.kind
			break
		}
	}
	id, ok := m.ids[kind]
	if !ok {
		m.t.Fatalf("%s: whose id does it take? Add a row to idOf", rt.Pattern)
	}
	if missing {
		id = unknownLike(id)
	}
	closing := strings.IndexByte(path, '}')
	return path[:open] + id + second.Replace(path[closing+1:]), kind
}

// unknownLike returns an id of the same form that does not exist.
func unknownLike(id string) string {
	at := strings.IndexAny(id, ".")
	if at < 0 {
		at = len(id)
	}
	last := byte('0')
	if id[at-1] == last {
		last = '1'
	}
	return id[:at-1] + string(last) + id[at:]
}

// changing are the parts of answers that differ without telling anything.
var changing = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?|[0-9A-Z]{38}|[0-9a-f-]{36}|\b1[0-9]{9}\b|"?(createdAt|created_at|updated_at|timestamp)"?:[^,}]*`)

// alike returns an answer without what differs between any two requests, and without the id asked for.
func alike(w *httptest.ResponseRecorder, id string) string {
	body := strings.ReplaceAll(w.Body.String(), id, "ID")
	return fmt.Sprint(w.Code, " ", w.Header().Get("Content-Type"), " ", changing.ReplaceAllString(body, "X"))
}

func TestRights_EveryRouteRefusesWhoMayNotCallIt(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	expired := newKey(t, m.serving.instance, apikey.Key{Role: access.Administrator, ExpiresAt: time.Now().Add(time.Millisecond)})
	gone := newKey(t, m.serving.instance, apikey.Key{Role: access.Administrator})
	if err := m.serving.db.APIKeys().RevokeKey(t.Context(), apikey.IDOf(gone), time.Now()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	roles := []struct {
		name, key string
		role      access.Role
	}{
		{"nobody", "", ""}, {"an expired key", expired, ""}, {"a revoked key", gone, ""}, {"a wrong key", m.admin[:len(m.admin)-4] + "aaaa", ""},
		{"a foreign token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.", ""},
		{"a reader", m.reader, access.Reader}, {"an editor", m.other, access.Editor}, {"an administrator", m.admin, access.Administrator},
	}
	needs := map[wire.Right]access.Role{wire.Ask: access.Reader, wire.Change: access.Editor, wire.Edit: access.Editor, wire.Manage: access.Administrator,
		wire.Instruct: access.Administrator, wire.Administer: access.Administrator}
	ask := func(rt wire.Route, target string) {
		method, _, _ := strings.Cut(rt.Pattern, " ")
		for _, c := range roles {
			want := 0 // anything but a refusal
			switch need := needs[rt.Right]; {
			case rt.Right == wire.Anybody:
			case c.role == "":
				want = http.StatusUnauthorized
			case !c.role.Includes(need):
				want = http.StatusForbidden
			}
			if want == 0 && (rt.Events || rt.Right != wire.Anybody && c.role != needs[rt.Right]) {
				continue // streams wait; and whether the weakest role may is enough to know
			}
			w := m.as(c.key, method, target, m.bodies[rt.Pattern], "application/json")
			refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
			if want != 0 && w.Code != want || want == 0 && refused {
				t.Errorf("%s as %s: status %d, want %d: %.200s", rt.Pattern, c.name, w.Code, want, w.Body)
			}
			if (w.Code == http.StatusUnauthorized) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%s as %s: status %d with the challenge %q", rt.Pattern, c.name, w.Code, w.Header().Get("WWW-Authenticate"))
			}
			toldToAuditor := rt.Pattern == "GET /api/audit" && c.role == access.Administrator // the log names the file that the owner uploaded
			if strings.Contains(w.Body.String(), canary) && !toldToAuditor {
				t.Errorf("%s as %s tells %.300s", rt.Pattern, c.name, w.Body)
			}
		}
	}
	var sending errgroup.Group // some protocols pace their answers
	sending.SetLimit(16)
	for _, rt := range m.routes {
		target, _ := m.target(rt, true)
		sending.Go(func() error {
			ask(rt, target)
			return nil
		})
	}
	_ = sending.Wait() // returns what the functions return
}

func TestRights_WhatBelongsToOthersIsLikeWhatIsNotThere(t *testing.T) {
	m := newMatrix(t)
	objects := 0
	for _, rt := range m.routes {
		method, _, _ := strings.Cut(rt.Pattern, " ")
		target, kind := m.target(rt, false)
		if rt.Right == wire.Administer || slices.Contains(notOwned, kind) || kind == "" && rt.Events {
			continue
		}
		for name, key := range map[string]string{"another editor": m.other, "an editor of another namespace": m.elsewhere} {
			if kind == "" && (method != http.MethodGet || rt.Right == wire.Anybody) {
				continue
			}
			w := m.as(key, method, target, m.bodies[rt.Pattern], "application/json")
			told := strings.ReplaceAll(w.Body.String(), m.ids[kind], "ID")
			for what, id := range m.ids {
				if !slices.Contains(notOwned, what) && strings.Contains(told, id) {
					t.Errorf("%s as %s tells the id of the owner's %s: %.300s", rt.Pattern, name, what, told)
				}
			}
			if strings.Contains(strings.ReplaceAll(told, m.ids["name"], ""), canary) {
				t.Errorf("%s as %s tells %.300s", rt.Pattern, name, told)
			}
			if kind == "" {
				continue
			}
			objects++
			missing, _ := m.target(rt, true)
			other := m.as(key, method, missing, m.bodies[rt.Pattern], "application/json")
			if a, b := alike(w, m.ids[kind]), alike(other, unknownLike(m.ids[kind])); a != b || w.Code < 400 {
				t.Errorf("%s as %s: %.300s; what does not exist: %.300s", rt.Pattern, name, a, b)
			}
		}
	}
	if objects < 60 {
		t.Errorf("only %d requests for objects", objects)
	}
	// All that is still there for its owner, whom none of these requests has harmed.
	for _, rt := range m.routes {
		method, path, _ := strings.Cut(rt.Pattern, " ")
		target, kind := m.target(rt, false)
		if method != http.MethodGet || kind == "" || rt.Events || rt.Right == wire.Administer || slices.Contains(notOwned, kind) ||
			strings.Count(path, "{") > strings.Count(path, "{$}")+1 {
			continue
		}
		w := m.as(m.owner, method, target, "", "application/json")
		if w.Code >= 300 {
			t.Errorf("%s as its owner: %d %.200s", rt.Pattern, w.Code, w.Body)
		}
	}
}

// BenchmarkRights_ForeignAndMissing compares how long requests for what belongs to others take with those for what does not exist
// (rows S1 and S3). Both kinds of request take turns, and medians are compared, so that a busy machine disturbs both alike. Run it
// with -v to see each route.
//
//	go test ./cmd/parley -run '^$' -bench ForeignAndMissing -benchtime 300x
func BenchmarkRights_ForeignAndMissing(b *testing.B) {
	m := newMatrix(b)
	type route struct {
		wire.Route
		method, foreign, missing string
		took                     [2][]float64 // of what is foreign and of what is missing, in µs
	}
	var routes []*route
	for _, rt := range m.routes {
		method, _, _ := strings.Cut(rt.Pattern, " ")
		foreign, kind := m.target(rt, false)
		missing, _ := m.target(rt, true)
		if kind == "" || slices.Contains(notOwned, kind) || rt.Right == wire.Administer ||
			m.as(m.other, method, foreign, m.bodies[rt.Pattern], "application/json").Code != http.StatusNotFound ||
			m.as(m.other, method, missing, m.bodies[rt.Pattern], "application/json").Code != http.StatusNotFound {
			continue
		}
		routes = append(routes, &route{Route: rt, method: method, foreign: foreign, missing: missing})
	}
	n := 0
	for b.Loop() {
		for _, rt := range routes {
			for i := range 2 {
				which := (i + n) % 2 // each kind is first half of the times
				target := []string{rt.foreign, rt.missing}[which]
				start := time.Now()
				m.as(m.other, rt.method, target, m.bodies[rt.Pattern], "application/json")
				rt.took[which] = append(rt.took[which], float64(time.Since(start).Nanoseconds())/1000)
			}
		}
		n++
	}
	least, most := math.Inf(1), 0.0
	for _, rt := range routes {
		foreign, missing := median(rt.took[0]), median(rt.took[1])
		least, most = min(least, foreign/missing), max(most, foreign/missing)
		b.Logf("%-62s foreign %7.1f µs, missing %7.1f µs, ratio %.2f", rt.Pattern, foreign, missing, foreign/missing)
	}
	b.ReportMetric(float64(len(routes)), "routes")
	b.ReportMetric(least, "least-ratio")
	b.ReportMetric(most, "most-ratio")
}

func median(of []float64) float64 {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

// claims are the ways in which a list could be asked for what belongs to somebody else.
func (m *matrix) claims() []string {
	owner := url.QueryEscape(m.ownerID)
	return []string{"by=turn", "by=conversation", "by=user", "by=namespace", "user=" + owner, "user_id=" + owner, "owner=" + owner, "limit=1000", "all=true", "offset=0&limit=100"}
}

// Rows S1 and S3: no query makes a list tell of others.
func TestRights_ListsTellOnlyOnesOwnWhateverIsClaimed(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	lists := 0
	for _, rt := range m.routes {
		method, path, _ := strings.Cut(rt.Pattern, " ")
		if method != http.MethodGet || strings.Contains(path, "{") || rt.Events || rt.Right == wire.Anybody || rt.Right == wire.Administer {
			continue
		}
		for _, claim := range m.claims() {
			w := m.as(m.other, method, path+"?"+claim, "", "")
			told := w.Body.String()
			for what, id := range m.ids {
				if !slices.Contains(notOwned, what) && strings.Contains(told, id) {
					t.Errorf("%s?%s tells the id of the owner's %s: %.300s", path, claim, what, told)
				}
			}
			if strings.Contains(told, canary) || strings.Contains(told, m.ownerID) {
				t.Errorf("%s?%s tells %.300s", path, claim, told)
			}
			lists++
		}
	}
	if lists < 100 {
		t.Errorf("only %d requests for lists", lists)
	}
}

// visitor is a caller of the matrix of members.
type visitor struct {
	name, key                   string
	reads, edits, owns, another bool
}

// member gives somebody a key with a role in a namespace, and returns the key.
func (m *matrix) member(role access.Role) string {
	key := newKey(m.t, m.serving.instance, apikey.Key{Role: access.Reader})
	if role != "" {
		err := m.serving.db.Members().Put(m.t.Context(), access.Member{Namespace: "default", Name: "key:" + apikey.IDOf(key), Role: role}, time.Now())
		if err != nil {
			m.t.Fatal(err)
		}
	}
	return key
}

// manages reports whether a route is for those who manage a namespace.
func manages(rt wire.Route) bool { return rt.Right == wire.Manage || rt.Right == wire.Instruct }

// In a namespace with members, their roles decide over every route, and other roles over none.
func TestRights_MembersDecideOverEveryRouteOfTheirNamespace(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	m := newMatrix(t)
	const word = "zanzibarquartz" // in a document that no access list restricts
	text := "The " + word + " is kept in the green cupboard."
	sum, _, err := m.serving.db.Blobs().Put(t.Context(), strings.NewReader(text))
	if err == nil {
		err = m.serving.corpus.Apply(t.Context(), retrieval.Batch{Namespace: "default", Put: []retrieval.Put{{
			Document: retrieval.Document{ID: "01M83000000000000000MEMBER", Name: word + ".txt", Title: word, MediaType: "text/plain", SHA256: sum, Pages: 1, IndexedAt: time.Now()},
			Pages:    []retrieval.Page{{Number: 1, Text: text}},
			Chunks:   []retrieval.Chunk{{Text: text, Spans: []retrieval.Span{{Page: 1, End: len(text)}}, Tokens: 8}}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.ids["document"], m.ids["name"] = "01M83000000000000000MEMBER", word+".txt"
	visitors := []visitor{
		{name: "an editor who is no member", key: m.other}, {name: "a reader who is no member", key: m.member("")},
		{name: "a member", key: m.member(access.Reader), reads: true},
		{name: "an editing member", key: m.member(access.Editor), reads: true, edits: true},
		{name: "an owner", key: m.member(access.Owner), reads: true, edits: true, owns: true},
		{name: "an administrator", key: m.admin, reads: true, edits: true, owns: true, another: true},
		{name: "nobody", key: ""},
	}
	m.serving.entry.members.Forget()
	questions := map[string]string{
		"/chat": `{"message":"Where is the ` + word + ` kept?"}`, "/search": `{"query":"` + word + `"}`,
		"/v1/chat/completions": `{"model":"parley","messages":[{"role":"user","content":"Where is the ` + word + ` kept?"}]}`,
		"/v1/responses":        `{"model":"parley","input":"Where is the ` + word + ` kept?"}`,
		"/mcp":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"` + word + `"}}}`,
	}
	asked := func(key, path string) string {
		told := m.as(key, "POST", path, questions[path], "application/json").Body.String()
		return strings.NewReplacer("Where is the "+word+" kept?", "", `"`+word+`"`, "").Replace(told)
	}
	for _, v := range visitors {
		for path := range questions {
			if got := asked(v.key, path); strings.Contains(got, "cupboard") != v.reads && (v.reads || strings.Contains(got, "cupboard")) {
				t.Errorf("%s asks %s: %.300s", v.name, path, got)
			}
		}
		for _, rt := range m.routes {
			method, _, _ := strings.Cut(rt.Pattern, " ")
			target, kind := m.target(rt, false)
			if v.owns && !manages(rt) && kind != "document" || rt.Right == wire.Administer {
				continue
			}
			if rt.Events || method == http.MethodDelete && rt.Right == wire.Edit && v.edits || v.owns && manages(rt) && method != http.MethodGet {
				continue // which would delete what the others ask for
			}
			w := m.as(v.key, method, target, m.bodies[rt.Pattern], "application/json")
			told := strings.ReplaceAll(w.Body.String(), m.ids["name"], "")
			if strings.Contains(told, word) && !v.reads {
				t.Errorf("%s: %s tells %.300s", v.name, rt.Pattern, told)
			}
			if kind == "document" && method == http.MethodGet && !strings.Contains(rt.Pattern, "image") && !strings.Contains(rt.Pattern, "boxes") && (w.Code == http.StatusOK) != v.reads {
				t.Errorf("%s: %s: %d", v.name, rt.Pattern, w.Code)
			}
			if rt.Right == wire.Edit && !v.edits && w.Code < 400 {
				t.Errorf("%s: %s: %d %.200s", v.name, rt.Pattern, w.Code, w.Body)
			}
			if manages(rt) && (w.Code < 400) != v.owns && (v.owns || w.Code < 400) {
				t.Errorf("%s: %s: %d %.200s", v.name, rt.Pattern, w.Code, w.Body)
			}
		}
	}
	form, contentType := formOf(t, "from-a-member.md")
	for _, v := range visitors {
		if w := m.as(v.key, "POST", "/upload", form, contentType); (w.Code == http.StatusOK) != v.edits {
			t.Errorf("%s uploads: %d %.200s", v.name, w.Code, w.Body)
		}
		if w := m.as(v.key, "POST", "/upload?namespace=elsewhere", form, contentType); v.key != "" && (w.Code == http.StatusOK) != (v.another || v.key == m.other) {
			t.Errorf("%s uploads elsewhere: %d %.200s", v.name, w.Code, w.Body)
		}
	}
}

func TestRights_NobodyMakesThemselvesAnOwner(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	editor, owner := m.member(access.Editor), m.member(access.Owner)
	m.serving.entry.members.Forget()
	const path = "/api/namespaces/default/members"
	put := func(key, body string) int { return m.as(key, "PUT", path, body, "application/json").Code }
	self := `{"user":"key:` + apikey.IDOf(editor) + `","role":"owner"}`
	for name, c := range map[string]struct {
		got, want int
	}{
		"an editor makes himself an owner":      {put(editor, self), 403},
		"somebody else does":                    {put(m.other, self), 403},
		"an owner, of another namespace":        {m.as(owner, "PUT", "/api/namespaces/elsewhere/members", self, "application/json").Code, 403},
		"an owner, of a vector store":           {m.as(m.admin, "PUT", "/api/namespaces/vs_1/members", self, "application/json").Code, 404},
		"an owner opens it to everybody":        {m.as(owner, "DELETE", path+"?all=true", "", "").Code, 403},
		"a role that is none":                   {put(owner, `{"user":"ann","role":"administrator"}`), 400},
		"a role and no member":                  {put(owner, `{"role":"reader"}`), 400},
		"a user and a group":                    {put(owner, `{"user":"ann","group":"ann","role":"reader"}`), 400},
		"an empty user":                         {put(owner, `{"user":"","role":"reader"}`), 400},
		"whoever was deleted":                   {put(owner, `{"user":"deleted:","role":"reader"}`), 400},
		"a control character":                   {put(owner, `{"user":"a\u0000b","role":"reader"}`), 400},
		"somebody who is not there is removed":  {m.as(owner, "DELETE", path+"?user=nobody", "", "").Code, 404},
		"all of a kind are removed":             {m.as(owner, "DELETE", path, "", "").Code, 400},
		"an owner adds another":                 {put(owner, `{"user":"ann","role":"owner"}`), 200},
		"an owner adds a group":                 {put(owner, `{"group":"ann","role":"reader"}`), 200},
		"another administrator of less":         {m.as(newKey(t, m.serving.instance, apikey.Key{Role: access.Administrator, Namespaces: []string{"elsewhere"}}), "GET", path, "", "").Code, 404},
		"an editor of another namespace looks":  {m.as(m.elsewhere, "GET", path, "", "").Code, 403},
		"whoever may not even use it looks":     {m.as(m.reader, "GET", path, "", "").Code, 403},
		"an administrator of all reads members": {m.as(m.admin, "GET", path, "", "").Code, 200},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	// Who is removed may nothing any more, at once.
	if w := m.as(owner, "DELETE", path+"?user=key:"+apikey.IDOf(editor), "", ""); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	if w := m.as(editor, "POST", "/chat", `{"message":"What does the plan cost?"}`, "application/json"); w.Code != http.StatusNotFound {
		t.Errorf("a removed member asks: %d %s", w.Code, w.Body)
	}
}
