package webapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/pageview"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/webapi"
	"parley/internal/wire/wiretest"
)

// site is the page's API with a real store and a real engine.
type site struct {
	ingestion webapi.Ingestion
	t         *testing.T
	db        *store.DB
	corpus    *retrieval.Corpus
	runner    *turn.Runner
	http      http.Handler
	who       access.Principal
	closed    bool
}

const otherNamespace = "hr"

func newSite(t *testing.T) *site {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &site{t: t, db: db}
	if s.corpus, err = retrieval.Open(t.Context(), db.Corpus(), nil); err != nil {
		t.Fatal(err)
	}
	router := &llm.Router{Default: "builtin:extractive", Providers: map[string]llm.Model{"builtin": builtin.Answerer{}}}
	engine := chat.NewEngine(chat.Config{Retriever: s.corpus, Models: router, Rewrite: builtin.Rewrite, Namespace: "default"})
	s.runner = turn.NewRunner(engine, db.State(), turn.Options{Namespace: "default"})
	config := webapi.Config{
		Namespaces: func(context.Context, access.Principal) ([]string, error) {
			return []string{"default", otherNamespace}, nil
		},
		Namespace: "default", Catalog: db.Corpus(), Pictures: drawn{}, Turns: s.runner, Records: db.State(), Chats: db.Transcripts(), Shelf: db.Shelf(),
		Settings: func(context.Context) webapi.Settings { return webapi.Settings{Ingestion: s.ingestion} },
		Delete: func(ctx context.Context, d retrieval.Document) (bool, error) {
			return false, s.corpus.Apply(ctx, retrieval.Batch{Namespace: d.Namespace, Delete: []string{d.ID}})
		},
		Uploaded: func(_ context.Context, namespace, owner string) (map[string]bool, error) {
			return map[string]bool{"UP": namespace == "default" && owner == ""}, nil
		},
	}
	s.http = wiretest.MountFor(webapi.New(config).Protocol(), slog.New(slog.DiscardHandler),
		func(_ *http.Request, right wire.Right) (access.Principal, error) {
			if right == wire.Edit && s.closed {
				return s.who, &chat.Error{Kind: chat.Forbidden}
			}
			return s.who, nil
		})
	return s
}

// drawn has a picture of every page, 100 by 200, and for each range a box that tells its bytes.
type drawn struct{}

func (drawn) Picture(_ context.Context, d retrieval.Document, page, width int) (pageview.Picture, error) {
	return pageview.Picture{Data: fmt.Appendf(nil, "%s %d %d", d.Name, page, width), MediaType: "image/jpeg"}, nil
}

func (drawn) Headings(_ context.Context, d retrieval.Document, _ int) ([]pageview.Heading, error) {
	if d.MediaType != "text/markdown" {
		return nil, nil
	}
	return []pageview.Heading{{Level: 1, Text: "Not in the text"}, {Level: 3, Text: "*Contact* [lenses](a.md)."}, {Level: 2, Text: "one two"}}, nil
}

func (drawn) Measure(_ context.Context, _ retrieval.Document, _ retrieval.Page, ranges []pageview.Range) (pageview.Measure, error) {
	m := pageview.Measure{Width: 100, Height: 200}
	for i, r := range ranges {
		m.Boxes = append(m.Boxes, pageview.Box{X: float64(r.Start), Y: float64(r.End), Range: i})
	}
	return m, nil
}

// put adds a document. Each text becomes a page with one chunk.
func (s *site) put(id, namespace, name, mediaType string, acl access.List, pages ...string) {
	s.t.Helper()
	s.add(retrieval.Document{ID: id, Namespace: namespace, Name: name, MediaType: mediaType, Access: acl}, pages...)
}

// add is put for a document with more to say of itself.
func (s *site) add(d retrieval.Document, pages ...string) {
	s.t.Helper()
	d.Title, d.URL, d.SHA256, d.Size = "Title of "+d.Name, "javascript:alert(1)", strings.Repeat("0123456789abcdef", 4), 100
	d.Generation, d.IndexedAt = "g", time.Unix(1e9, 0)
	p := retrieval.Put{Document: d}
	for i, text := range pages {
		number := i + 1
		if d.MediaType != "application/pdf" {
			number = 0
		} else {
			p.Document.Pages++
		}
		p.Pages = append(p.Pages, retrieval.Page{Number: number, Text: text, Map: []byte{1, 0, 1}})
		p.Chunks = append(p.Chunks, retrieval.Chunk{Text: text, Tokens: 9, Headings: []string{"Vision"}, Spans: []retrieval.Span{{Page: number, End: len(text)}}})
	}
	if err := s.corpus.Apply(s.t.Context(), retrieval.Batch{Namespace: d.Namespace, Put: []retrieval.Put{p}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) call(method, target string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.send(method, target, "", headers...)
}

// send is call with a body.
func (s *site) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}

// get decodes the reply as T. It fails the test if the status is not 200.
func get[T any](s *site, target string) (v T) {
	s.t.Helper()
	w := s.call(http.MethodGet, target)
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", target, w.Code, w.Body)
	}
	if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("X-Content-Type-Options") != "nosniff" {
		s.t.Errorf("%s: %v", target, h)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		s.t.Fatalf("%s: %v: %s", target, err, w.Body)
	}
	return v
}

// slice does the same as text.slice(start, end) in JavaScript.
func slice(text string, start, end int) string {
	return string(utf16.Decode(utf16.Encode([]rune(text))[start:end]))
}

type listed struct {
	Documents []struct {
		ID, Name, URL, Kind string
		ContentURL          string `json:"content_url"`
		Chunks, Pages       int
	}
	Next  string
	Total int
}

func (l listed) names() (all []string) {
	for _, d := range l.Documents {
		all = append(all, d.Name)
	}
	return all
}

func TestDocuments_AreListedAndFound(t *testing.T) {
	s := newSite(t)
	for i, name := range []string{"a.pdf", "b & <c>.md", "d.csv", "e.pptx", "f.html"} {
		media := []string{"application/pdf", "text/markdown", "text/csv", "application/vnd.openxmlformats-officedocument.presentationml.presentation", "text/html"}[i]
		s.put(fmt.Sprint("D", i), "default", name, media, access.List{}, "text")
	}
	s.put("H", otherNamespace, "a.pdf", "application/pdf", access.List{}, "text")
	first := get[listed](s, "/api/documents?limit=2")
	second := get[listed](s, "/api/documents?limit=3&after="+strings.ReplaceAll(strings.ReplaceAll(first.Next, " ", "%20"), "&", "%26"))
	if diff := cmp.Diff([][]string{{"a.pdf", "b & <c>.md"}, {"d.csv", "e.pptx", "f.html"}}, [][]string{first.names(), second.names()}); diff != "" {
		t.Error(diff)
	}
	if first.Total != 5 || second.Next != "" {
		t.Errorf("%d in all, next %q", first.Total, second.Next)
	}
	var kinds []string
	for _, d := range append(first.Documents, second.Documents...) {
		kinds = append(kinds, d.Kind)
		if d.URL != "" {
			t.Errorf("%s leads to %s", d.Name, d.URL)
		}
	}
	if diff := cmp.Diff([]string{"image", "markdown", "table", "slide", "html"}, kinds); diff != "" {
		t.Error(diff)
	}
	if got := first.Documents[1].ContentURL; got != "/content/b%20&%20%3Cc%3E.md" {
		t.Errorf("content_url is %s", got)
	}
	if found := get[listed](s, "/api/documents?q=TITLE+OF+D"); found.Total != 1 || found.Documents[0].Name != "d.csv" {
		t.Errorf("found %+v", found)
	}
	if other := get[listed](s, "/api/documents?namespace=hr"); other.Total != 1 || other.Documents[0].ContentURL != "/content/a.pdf?namespace=hr" {
		t.Errorf("of another namespace: %+v", other)
	}
	for _, bad := range []string{"?limit=0", "?limit=201", "?limit=x", "?q=" + strings.Repeat("x", 5000)} {
		if w := s.call(http.MethodGet, "/api/documents"+bad); w.Code != http.StatusBadRequest {
			t.Errorf("%.20s: %d", bad, w.Code)
		}
	}
}

// filtered returns the path of a list with a filter.
func filtered(path, filter string) string { return path + "filter=" + url.QueryEscape(filter) }

func TestDocuments_AreFilteredByAttributes(t *testing.T) {
	s := newSite(t)
	for i := range 9 {
		d := retrieval.Document{ID: fmt.Sprint("D", i), Namespace: "default", Name: fmt.Sprintf("%d.md", i), MediaType: "text/markdown", Category: "note"}
		d.Attributes = attribute.Values{"even": i%2 == 0, "tags": []any{"all", fmt.Sprint("third ", i%3)}}.Encode()
		if i == 8 {
			d.Attributes, d.Access = attribute.Values{"even": true, "secret": "x"}.Encode(), access.List{Users: []string{"ann"}}
		}
		s.add(d, "text")
	}
	const even = `{"type":"eq","key":"even","value":true}`
	first := get[listed](s, filtered("/api/documents?limit=3&", even))
	second := get[listed](s, filtered("/api/documents?limit=3&after="+first.Next+"&", even))
	if diff := cmp.Diff([][]string{{"0.md", "2.md", "4.md"}, {"6.md"}}, [][]string{first.names(), second.names()}); diff != "" || first.Total != 4 || second.Next != "" {
		t.Errorf("%d in all, next %q: %s", first.Total, second.Next, diff)
	}
	both := `{"type":"and","filters":[` + even + `,{"type":"in","key":"tags","value":["third 1","x"]}]}`
	if got := get[listed](s, filtered("/api/documents?", both)); strings.Join(got.names(), " ") != "4.md" {
		t.Errorf("found %v", got.names())
	}
	if got := get[listed](s, filtered("/api/documents?q=2.md&", even)); strings.Join(got.names(), " ") != "2.md" {
		t.Errorf("found %v", got.names())
	}
	for filter, want := range map[string]string{
		"{":                              "filter must be JSON",
		`{"type":"like","key":"a"}`:      "filter: its type must be",
		`{"type":"eq","key":"a"}`:        "filter: the value of",
		`["` + strings.Repeat("x", 9000): "filter must be at most 8192 bytes long",
	} {
		for _, path := range []string{"/api/documents?", "/api/attributes?"} {
			if w := s.call(http.MethodGet, filtered(path, filter)); w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), `{"error":"`+want) {
				t.Errorf("%s %.30s: %d %s", path, filter, w.Code, w.Body)
			}
		}
	}
}

func TestAttributes_AreThoseOfListedDocuments(t *testing.T) {
	s := newSite(t)
	for i, tags := range [][]any{{"a", "b"}, {"b"}, {"c"}} {
		d := retrieval.Document{ID: fmt.Sprint("D", i), Namespace: "default", Name: fmt.Sprintf("%d.md", i), MediaType: "text/markdown", Category: "note"}
		d.Attributes = attribute.Values{"tags": tags, "year": 2026.0}.Encode()
		if i == 2 {
			d.Category, d.Access = "", access.List{Users: []string{"ann"}}
		}
		s.add(d, "text")
	}
	for path, want := range map[string]string{
		"/api/attributes": `{"attributes":[` +
			`{"key":"category","documents":2,"values":[{"value":"note","documents":2}],"more":false},` +
			`{"key":"year","documents":2,"values":[{"value":2026,"documents":2}],"more":false},` +
			`{"key":"tags","documents":2,"values":[{"value":"b","documents":2},{"value":"a","documents":1}],"more":false}]}`,
		"/api/attributes?q=nothing":    `{"attributes":[]}`,
		"/api/attributes?namespace=hr": `{"attributes":[]}`,
		filtered("/api/attributes?q=0.md&", `{"type":"eq","key":"year","value":2026}`): `{"attributes":[` +
			`{"key":"category","documents":1,"values":[{"value":"note","documents":1}],"more":false},` +
			`{"key":"year","documents":1,"values":[{"value":2026,"documents":1}],"more":false},` +
			`{"key":"tags","documents":1,"values":[{"value":"a","documents":1},{"value":"b","documents":1}],"more":false}]}`,
	} {
		if w := s.call(http.MethodGet, path); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s\nwant %s", path, w.Code, w.Body, want)
		}
	}
	s.who = access.Principal{Subject: "ann"}
	if w := s.call(http.MethodGet, "/api/attributes"); !strings.Contains(w.Body.String(), `{"value":"c","documents":1}`) {
		t.Errorf("who may see it does not see its attributes: %s", w.Body)
	}
}

func TestDocuments_HaveTagsAndAreDeletedAtOnce(t *testing.T) {
	s := newSite(t)
	s.put("D", "default", "a.pdf", "application/pdf", access.List{}, "Contact lenses are covered.")
	w := s.call(http.MethodGet, "/api/documents/D")
	tag := w.Header().Get("ETag")
	if again := s.call(http.MethodGet, "/api/documents/D", "If-None-Match", `"x", W/`+tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("asked for again: %d %s", again.Code, again.Body)
	}
	if w := s.call(http.MethodPost, "/api/documents/D/reindex"); w.Code != http.StatusNotFound {
		t.Errorf("reindex without jobs: %d", w.Code)
	}
	if w := s.call(http.MethodDelete, "/api/documents/D"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"name":"a.pdf"`) {
		t.Errorf("delete: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"", "/chunks", "/pages/1", "/pages/1/image", "/pages/1/boxes"} {
		if w := s.call(http.MethodGet, "/api/documents/D"+path, "If-None-Match", tag); w.Code != http.StatusNotFound {
			t.Errorf("%s once it is deleted: %d", path, w.Code)
		}
	}
	if found := s.ask("Are contact lenses covered?"); strings.Contains(get[turnJSON](s, "/api/turns/"+found).Answer, "a.pdf") {
		t.Error("a deleted document is cited")
	}
}

func TestDocuments_AreChangedOnlyWhereThatIsAllowed(t *testing.T) {
	s := newSite(t)
	s.put("D", "default", "a.pdf", "application/pdf", access.List{}, "Contact lenses are covered.")
	s.put("UP", "default", "b.pdf", "application/pdf", access.List{}, "Contact lenses are covered.")
	type uploads struct {
		Documents []struct{ Uploaded bool }
	}
	all := get[uploads](s, "/api/documents")
	if len(all.Documents) != 2 || all.Documents[0].Uploaded || !all.Documents[1].Uploaded {
		t.Errorf("%+v", all)
	}
	s.who = access.Principal{Subject: "ann"}
	if w := s.call(http.MethodDelete, "/api/documents/D"); w.Code != http.StatusForbidden {
		t.Errorf("by somebody else: %d %s", w.Code, w.Body)
	}
	s.who, s.closed = access.Principal{Role: access.Administrator}, true
	if w := s.call(http.MethodDelete, "/api/documents/D"); w.Code != http.StatusForbidden {
		t.Errorf("where nobody may: %d %s", w.Code, w.Body)
	}
	get[listed](s, "/api/documents/D")
}

func TestChunks_NameTheirPlacesOnPages(t *testing.T) {
	s := newSite(t)
	pages := []string{"😀 First page, größer.", "Second page.", "Third 漢字 page."}
	s.put("D", "default", "a.pdf", "application/pdf", access.List{}, pages...)
	type chunks struct {
		Chunks []struct {
			Ordinal int
			Text    string
			Spans   []struct{ Page, Start, End int }
		}
		Next  *int
		Total int
	}
	first := get[chunks](s, "/api/documents/D/chunks?limit=2")
	if len(first.Chunks) != 2 || first.Next == nil || *first.Next != 1 || first.Total != 3 {
		t.Fatalf("%+v", first)
	}
	rest := get[chunks](s, "/api/documents/D/chunks?after=1")
	if len(rest.Chunks) != 1 || rest.Next != nil {
		t.Fatalf("%+v", rest)
	}
	for _, c := range append(first.Chunks, rest.Chunks...) {
		for _, span := range c.Spans {
			if got := slice(pages[span.Page-1], span.Start, span.End); got != c.Text {
				t.Errorf("%q is not %q", got, c.Text)
			}
		}
	}
	if second := get[chunks](s, "/api/documents/D/chunks?page=2"); second.Total != 1 || second.Chunks[0].Text != pages[1] {
		t.Errorf("of page 2: %+v", second)
	}
	brief := get[chunks](s, "/api/documents/D/chunks?limit=2&text=false")
	for i, c := range brief.Chunks {
		if c.Ordinal != i || c.Text != "" || len(c.Spans) > 0 || len(brief.Chunks) != 2 || brief.Total != 3 {
			t.Errorf("without texts: %+v", brief)
		}
	}
	if len(brief.Chunks) == 0 || len(get[chunks](s, "/api/documents/D/chunks").Chunks[0].Text) == 0 {
		t.Errorf("without texts: %+v", brief)
	}
}

func TestPage_TellsHowItIsShown(t *testing.T) {
	s := newSite(t)
	text := "😀 Intro.\n\nVision\n\nContact lenses.\n\n• one\n• two"
	s.put("D", "default", "a.pdf", "application/pdf", access.List{}, text, "more")
	s.put("M", otherNamespace, "b.md", "text/markdown", access.List{}, text)
	type page struct {
		Number, Count int
		Label, Kind   string
		Text          string
		Width, Height float64
		ImageURL      string `json:"image_url"`
		Blocks        []struct {
			Kind              string
			Level, Start, End int
		}
	}
	p := get[page](s, "/api/documents/D/pages/1")
	if p.Number != 1 || p.Count != 2 || p.Label != "Page 1" || p.Kind != "image" || p.Text != text || p.Width != 100 || p.Height != 200 {
		t.Errorf("%+v", p)
	}
	var blocks []string
	for _, b := range p.Blocks {
		blocks = append(blocks, fmt.Sprintf("%s %d %s", b.Kind, b.Level, slice(text, b.Start, b.End)))
	}
	if diff := cmp.Diff([]string{"paragraph 0 😀 Intro.", "heading 1 Vision", "paragraph 0 Contact lenses.", "lines 0 • one\n• two"}, blocks); diff != "" {
		t.Error(diff)
	}
	w := s.call(http.MethodGet, p.ImageURL+"&width=730")
	if w.Code != http.StatusOK || w.Body.String() != "a.pdf 1 800" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("picture: %d %s %v", w.Code, w.Body, w.Header())
	}
	if again := s.call(http.MethodGet, p.ImageURL+"&width=730", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("picture again: %d", again.Code)
	}
	if w := s.call(http.MethodGet, "/api/documents/D/pages/1/image?v=old"); strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Error("the picture of another version is kept for good")
	}
	m := get[page](s, "/api/documents/M/pages/0?namespace=hr")
	if b := m.Blocks; len(b) != 4 || b[1].Level != 1 || b[2].Kind != "heading" || b[2].Level != 3 || b[3].Kind != "lines" {
		t.Errorf("the headings of the original are not shown: %+v", b)
	}
	if m.Kind != "markdown" || m.Label != "" || m.Count != 0 || m.ImageURL != "" || m.Width != 0 {
		t.Errorf("%+v", m)
	}
	for target, want := range map[string]int{
		"/api/documents/M/pages/1?namespace=hr":         http.StatusNotFound,
		"/api/documents/M/pages/0/image?namespace=hr":   http.StatusNotFound,
		"/api/documents/M/pages/0?namespace=elsewhere":  http.StatusNotFound,
		"/api/documents/M/pages/0":                      http.StatusNotFound,
		"/api/documents/D/pages/-1":                     http.StatusNotFound,
		"/api/documents/D/pages/x":                      http.StatusNotFound,
		"/api/documents/D/pages/9999999999999999":       http.StatusNotFound,
		"/api/documents/D/pages/1/image?width=63":       http.StatusBadRequest,
		"/api/documents/D/pages/1/image?width=3001":     http.StatusBadRequest,
		"/api/documents/D/pages/1/boxes?start=1":        http.StatusBadRequest,
		"/api/documents/D/pages/1/boxes?start=2&end=1":  http.StatusBadRequest,
		"/api/documents/D/pages/1/boxes?start=-2&end=1": http.StatusBadRequest,
		"/api/documents/D/pages/1/boxes?start=x&end=1":  http.StatusBadRequest,
	} {
		if w := s.call(http.MethodGet, target); w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
	type boxes struct {
		Boxes []struct {
			X, Y  float64
			Range int
		}
	}
	// The emoji takes two code units and four bytes.
	if b := get[boxes](s, "/api/documents/D/pages/1/boxes?start=3&end=8&start=1&end=1000"); len(b.Boxes) != 2 || b.Boxes[0].X != 5 || b.Boxes[0].Y != 10 ||
		b.Boxes[1].X != 0 || int(b.Boxes[1].Y) != len(text) || b.Boxes[1].Range != 1 {
		t.Errorf("%+v", b)
	}
	if b := get[boxes](s, "/api/documents/M/pages/0/boxes?start=0&end=3&namespace=hr"); b.Boxes == nil || len(b.Boxes) != 0 {
		t.Errorf("boxes of a page without a picture: %+v", b)
	}
}

type turnJSON struct {
	Status, Question, Answer string
	Thoughts                 *struct {
		Query    struct{ Original string }
		Passages []struct {
			Label      string
			Rank       int
			RankBefore int `json:"rank_before"`
			Sent       bool
		}
		Prompt *struct{ Messages []struct{ Role, Text string } }
	}
	Citations []struct {
		N          int
		Label      string
		DocumentID string `json:"document_id"`
		Page       int
		Start, End int
		Quote      string
		Passage    string
		ContentURL string `json:"content_url"`
		URL        string
		Supported  bool
		Stale      bool
		Spans      []struct {
			Occurrence, Start, End int
			Quote                  string
			Stale                  bool
		}
	}
	Stages []struct {
		Stage, Status string
		Cost          *float64
	}
	Calls        []struct{ Stage, Model string }
	Cost         *float64
	Conversation *struct{ Turns int }
	FinishedAt   *string `json:"finished_at"`
}

// ask runs a turn and returns its id.
func (s *site) ask(question string) string {
	s.t.Helper()
	id := fmt.Sprintf("01JTURN%019d", time.Now().UnixNano()%1e18)
	req := chat.Request{TurnID: id, Principal: s.who, Messages: []chat.Message{chat.TextMessage(llm.User, question)}, Options: chat.Options{Top: 3, Mode: retrieval.Text}}
	if _, err := chat.Collect(s.runner.Run(s.t.Context(), &req)); err != nil {
		s.t.Fatal(err)
	}
	return id
}

func TestNamespaces_CountWhatTheCallerSees(t *testing.T) {
	s := newSite(t)
	s.put("D", "default", "a.pdf", "application/pdf", access.List{}, "one", "two")
	s.put("E", "default", "b.pdf", "application/pdf", access.List{Users: []string{"ann"}}, "three")
	type namespaces []struct {
		Name              string
		Documents, Chunks int
		Default           bool
	}
	want := namespaces{{"default", 1, 0, true}, {otherNamespace, 0, 0, false}}
	if diff := cmp.Diff(want, get[namespaces](s, "/api/namespaces")); diff != "" {
		t.Error(diff)
	}
	s.who = access.Principal{Subject: "ann"}
	want[0].Documents, want[0].Chunks = 2, 3
	if diff := cmp.Diff(want, get[namespaces](s, "/api/namespaces")); diff != "" {
		t.Error(diff)
	}
}

func TestConfig_SaysThatThereIsNothingToAskYet(t *testing.T) {
	s := newSite(t)
	type config struct {
		Documents int
		Problems  []struct{ Code, Message string }
	}
	if c := get[config](s, "/api/ui/config"); len(c.Problems) != 1 || c.Problems[0].Code != "no_documents" {
		t.Errorf("%+v", c)
	}
	s.put("D", "default", "a.pdf", "application/pdf", access.List{}, "one")
	if c := get[config](s, "/api/ui/config"); c.Problems == nil || len(c.Problems) != 0 || c.Documents != 1 {
		t.Errorf("%+v", c)
	}
}

func TestConfig_SaysHowFarTheDocumentsAreRead(t *testing.T) {
	s := newSite(t)
	type config struct {
		Problems []struct{ Code, Message string }
	}
	for _, c := range []struct {
		ingestion webapi.Ingestion
		want      string
	}{
		{webapi.Ingestion{Running: true}, "The documents are being read. "},
		{webapi.Ingestion{Running: true, Files: 40, Done: 12}, "The documents are being read: 12 of 40 so far. "},
	} {
		s.ingestion = c.ingestion
		for range 2 { // without documents, then with one
			got := get[config](s, "/api/ui/config")
			if len(got.Problems) != 1 || got.Problems[0].Code != "ingesting" || !strings.HasPrefix(got.Problems[0].Message, c.want) {
				t.Errorf("%+v: %+v", c.ingestion, got)
			}
			s.put("D", "default", "a.pdf", "application/pdf", access.List{}, "one")
		}
	}
}
