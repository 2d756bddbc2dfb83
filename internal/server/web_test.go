package server

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/pageview"
	"parley/internal/retrieval"
	keptthings "parley/internal/shelf"
	"parley/internal/transcript"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/webapi"
)

// bookcase is a webapi.Catalog in memory.
type bookcase struct {
	docs   map[string]retrieval.Document // by id
	pages  map[int64][]retrieval.Page
	chunks map[int64][]retrieval.Chunk
}

func newBookcase() *bookcase {
	s := &bookcase{docs: map[string]retrieval.Document{}, pages: map[int64][]retrieval.Page{}, chunks: map[int64][]retrieval.Chunk{}}
	s.put(retrieval.Document{
		ID: stored, Revision: 1, Namespace: "default", Name: "handbook.pdf", Title: "Handbook", MediaType: "application/pdf",
		SHA256: strings.Repeat("ab", 32), Size: 9, Pages: 1, IndexedAt: time.Unix(1e9, 0),
	}, "Everything is covered.")
	return s
}

// put adds a document of one page that is one chunk.
func (s *bookcase) put(d retrieval.Document, text string) {
	d.Chunks = 1
	s.docs[d.ID] = d
	s.pages[d.Revision] = []retrieval.Page{{Number: 1, Text: text, Map: []byte{1, 0, 1}}}
	s.chunks[d.Revision] = []retrieval.Chunk{{
		Key: retrieval.ChunkKey{Revision: d.Revision}, Text: text, Tokens: 4, Headings: []string{"Part"},
		Spans: []retrieval.Span{{Page: 1, End: len(text)}},
	}}
}

func (s *bookcase) DocumentByID(_ context.Context, f retrieval.Filter, id string) (retrieval.Document, error) {
	d, ok := s.docs[id]
	if !ok || d.Namespace != f.Namespace || !f.MaySee(d.Category, d.Access) {
		return retrieval.Document{}, retrieval.ErrNotFound
	}
	return d, nil
}

func (s *bookcase) Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error) {
	for id, d := range s.docs {
		if d.Name == name {
			return s.DocumentByID(ctx, f, id)
		}
	}
	return retrieval.Document{}, retrieval.ErrNotFound
}

func (s *bookcase) FindDocuments(ctx context.Context, f retrieval.Filter, text, after string, limit int) (all []retrieval.Document, total int, err error) {
	err = s.EachFound(ctx, f, text, func(d retrieval.Document) { all = append(all, d) })
	slices.SortFunc(all, func(a, b retrieval.Document) int { return cmp.Compare(a.Name, b.Name) })
	total = len(all)
	all = slices.DeleteFunc(all, func(d retrieval.Document) bool { return d.Name <= after })
	return all[:min(limit, len(all))], total, err
}

func (s *bookcase) EachFound(_ context.Context, filter retrieval.Filter, text string, f func(retrieval.Document)) error {
	for _, d := range s.docs {
		if d.Namespace == filter.Namespace && filter.MaySee(d.Category, d.Access) && filter.Where.Holds(d.AllAttributes()) &&
			strings.Contains(strings.ToLower(d.Name+"\n"+d.Title), strings.ToLower(text)) {
			f(d)
		}
	}
	return nil
}

func (s *bookcase) EmbeddedChunks(context.Context, []int64) (map[int64]int, error) {
	return map[int64]int{}, nil
}

func (s *bookcase) Page(_ context.Context, revision int64, number int) (retrieval.Page, int, error) {
	for _, p := range s.pages[revision] {
		if p.Number == number {
			return p, len(s.pages[revision]), nil
		}
	}
	return retrieval.Page{}, len(s.pages[revision]), retrieval.ErrNotFound
}

func (s *bookcase) FilesOf(context.Context, string, string) ([]retrieval.File, error) {
	return nil, nil
}

func (s *bookcase) RevisionChunks(_ context.Context, revision int64) ([]retrieval.Chunk, error) {
	return slices.Clone(s.chunks[revision]), nil
}

func (s *bookcase) Pages(_ context.Context, revision int64) ([]retrieval.Page, error) {
	return s.pages[revision], nil
}

func (s *bookcase) Stats(_ context.Context, namespace string) (st retrieval.Stats, err error) {
	for _, d := range s.docs {
		if d.Namespace == namespace {
			st.Documents++
			st.Chunks += d.Chunks
		}
	}
	return st, nil
}

// All pages have the same picture.
func (s *bookcase) Picture(context.Context, retrieval.Document, int, int) (pageview.Picture, error) {
	return pageview.Picture{Data: []byte("\xff\xd8\xff picture"), MediaType: "image/jpeg"}, nil
}

func (s *bookcase) Headings(context.Context, retrieval.Document, int) ([]pageview.Heading, error) {
	return nil, nil
}

func (s *bookcase) Measure(_ context.Context, _ retrieval.Document, _ retrieval.Page, ranges []pageview.Range) (pageview.Measure, error) {
	m := pageview.Measure{Width: 612, Height: 792}
	for i := range ranges {
		m.Boxes = append(m.Boxes, pageview.Box{X: .1, Y: .2, Width: .3, Height: .04, Range: i})
	}
	return m, nil
}

// records has the turns of oneTurn's owner.
type records struct{}

func (records) Turn(_ context.Context, scope turn.Scope, id string) (turn.Record, error) {
	if scope != (turn.Scope{Namespace: "default"}) || id != stored {
		return turn.Record{}, turn.ErrNotFound
	}
	return turn.Record{ID: id, Scope: scope, Status: chat.StatusCompleted, StartedAt: time.Unix(1e9, 0), FinishedAt: time.Unix(1e9+1, 0)}, nil
}

func (records) Entries(_ context.Context, id string) ([]ledger.Entry, error) {
	return []ledger.Entry{{TurnID: id, Stage: chat.StageGenerate, Provider: "builtin", Model: "extractive", Status: ledger.Completed, Cost: ledger.Cost{Known: true}}}, nil
}

func (records) Totals(context.Context, ledger.AccountKey) (ledger.Totals, error) {
	return ledger.Totals{}, nil
}

// kept is a webapi.Shelf with one thing of each kind.
type kept struct{}

func (kept) Items(_ context.Context, l keptthings.List) ([]keptthings.Item, error) {
	body := map[keptthings.Kind]string{keptthings.Prompts: `"Answer in a table."`, keptthings.Folders: `"Pumps"`}[l.Kind]
	return []keptthings.Item{{Key: keptthings.Key{Kind: l.Kind, ID: stored}, Body: []byte(body)}}, nil
}

func (kept) Save(_ context.Context, key keptthings.Key, change func(*keptthings.Item, bool) error) (keptthings.Item, error) {
	i := keptthings.Item{Key: key}
	return i, change(&i, true)
}

func (kept) Delete(context.Context, keptthings.Key) error { return nil }

func webOf(o options) wire.Protocol {
	s := o.shelf
	return webapi.New(webapi.Config{
		Usage: o.usage, Namespaces: namespaces, Namespace: cmp.Or(o.namespace, "default"), Catalog: s, Pictures: s, Turns: o.turns, Records: records{}, Chats: storeOf(transcript.ChatUI, `{"messageId":"m1","role":"user","content":"Hello"}`), Shelf: kept{},
		Settings: func(context.Context) webapi.Settings {
			return webapi.Settings{Version: "1", Model: "builtin:extractive", Models: map[string][]string{}, Defaults: map[string]string{},
				Settings: webapi.Described{Azure: []wire.Setting{wire.Switch("a", "A", "Does a.", true)}, RAGChat: []wire.Setting{}}, Problems: []webapi.Problem{}}
		},
		Delete: func(_ context.Context, d retrieval.Document) (bool, error) {
			delete(s.docs, d.ID)
			return true, nil
		},
		Reindex: func(context.Context, access.Principal, retrieval.Document) (string, error) { return "01JOB", nil },
	}).Protocol()
}

func TestIndex_ShowsBrowsersThePageAndOthersAText(t *testing.T) {
	s := newServer(t, options{})
	for accept, page := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"text/html;q=0.9": true, "*/*": false, "": false, "application/json": false, "text/plain": false, "text/html;q=0": false,
	} {
		w := do(s, http.MethodGet, "/", "", "Accept", accept)
		isPage := strings.Contains(w.Body.String(), "<!doctype html>")
		if w.Code != http.StatusOK || isPage != page || !slices.Contains(w.Header().Values("Vary"), "Accept") {
			t.Errorf("Accept %q: %d, %.40q, %v", accept, w.Code, w.Body, w.Header())
		}
		if csp := w.Header().Get("Content-Security-Policy"); page != strings.Contains(csp, "script-src 'self'") {
			t.Errorf("Accept %q: policy %q", accept, csp)
		}
	}
}

// The page may do everything on its own origin. A page of another origin may do only what it always
// could.
func TestWeb_ThePageMayCallOnItsOwnOrigin(t *testing.T) {
	s := newServer(t, options{cfg: Config{PublicURL: "https://parley.example.com", Origins: []string{"https://other.example"}}})
	call := func(host, origin, site string) int {
		return do(s, http.MethodDelete, "/api/documents/nothing", "", "Host", host, "Origin", origin, "Sec-Fetch-Site", site).Code
	}
	for _, c := range []struct {
		host, origin, site string
		want               int
	}{
		{"localhost:8000", "http://localhost:8000", "same-origin", http.StatusNotFound},
		{"localhost:8000", "https://parley.example.com", "same-origin", http.StatusNotFound},
		{"localhost:8000", "https://evil.example", "cross-site", http.StatusForbidden},
	} {
		if got := call(c.host, c.origin, c.site); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// objectRoutes returns the routes of the page whose path has an object's id.
func objectRoutes(s *Server) []*endpoint {
	return slices.DeleteFunc(slices.Collect(maps.Values(s.endpoints)), func(rt *endpoint) bool {
		return !strings.HasPrefix(rt.path, "/api/documents/{id}") && !strings.HasPrefix(rt.path, "/api/turns/{id}")
	})
}

// Rows S1 and S2: to a caller who may not see an object, every route replies as if it did not exist.
func TestWeb_WhatMayNotBeSeenIsNotThere(t *testing.T) {
	const secret = "01JSECRET00000000000000001"
	build := func(who access.Principal) *Server {
		sh := newBookcase()
		sh.put(retrieval.Document{ID: secret, Revision: 2, Namespace: "default", Name: "secret-canary.pdf", Title: "Canary",
			MediaType: "application/pdf", SHA256: strings.Repeat("cd", 32), Owner: "ann", Access: access.List{Users: []string{"ann"}, Groups: []string{"board"}}}, "Canary text.")
		sh.put(retrieval.Document{ID: secret + "X", Revision: 3, Namespace: "hidden", Name: "hidden-canary.pdf", Title: "Canary",
			MediaType: "application/pdf", SHA256: strings.Repeat("ef", 32)}, "Canary text.")
		return newServer(t, options{shelf: sh, who: who})
	}
	strangers := []access.Principal{access.Anonymous, {Subject: "bob"}, {Groups: []string{"staff", "ann"}}, {Subject: "board"}}
	covered := 0
	for _, rt := range objectRoutes(build(access.Anonymous)) {
		path := func(id string) string {
			return strings.NewReplacer("{id}", id, "{n}", "1").Replace(rt.path)
		}
		for method := range maps.Keys(rt.methods) {
			covered++
			for _, who := range strangers {
				unknown := do(build(who), method, path("01JUNKNOWN0000000000000001"), "")
				for _, target := range []string{
					path(secret), path(secret + "X"), path(secret + "X?namespace=hidden"), path(secret + "?namespace=other"), path(secret + "?namespace="),
				} {
					target = moveQuery(target)
					w := do(build(who), method, target, "", "If-None-Match", "*")
					if w.Code != http.StatusNotFound || unknown.Code != http.StatusNotFound {
						t.Errorf("%s %s as %+v: %d, an unknown one %d", method, target, who, w.Code, unknown.Code)
					}
					if !strings.Contains(target, "namespace=") && w.Body.String() != unknown.Body.String() {
						t.Errorf("%s %s as %+v: %s, an unknown one %s", method, target, who, w.Body, unknown.Body)
					}
					if strings.Contains(strings.ToLower(w.Body.String()), "canary") || w.Header().Get("ETag") != "" {
						t.Errorf("%s %s as %+v tells %s %v", method, target, who, w.Body, w.Header())
					}
				}
			}
			if !strings.HasPrefix(rt.path, "/api/documents") {
				continue
			}
			for _, who := range []access.Principal{
				{Subject: "ann"}, {Subject: "bob", Groups: []string{"board"}, Role: access.Administrator}, {Subject: "bob", Groups: []string{"board"}},
			} {
				w := do(build(who), method, path(secret), "")
				mayOnlySee := method != http.MethodGet && method != http.MethodHead && who.Subject != "ann" && who.Role == ""
				if mayOnlySee && w.Code != http.StatusForbidden || !mayOnlySee && w.Code >= 300 {
					t.Errorf("%s %s as %+v, who may see it: %d", method, rt.path, who, w.Code)
				}
			}
		}
	}
	if covered < 15 {
		t.Errorf("only %d operations were tried", covered)
	}
	for _, who := range strangers {
		for _, target := range []string{"/api/documents", "/api/documents?q=canary", "/api/documents?q=secret", "/api/namespaces", "/api/ui/config", "/api/documents?namespace=hidden"} {
			w := do(build(who), http.MethodGet, target, "")
			if body := strings.ToLower(w.Body.String()); strings.Contains(body, "canary") || strings.Contains(body, "hidden") ||
				strings.Contains(body, `"documents":2`) || strings.Contains(target, "?q=") && !strings.Contains(body, `"total":0`) {
				t.Errorf("%s as %+v tells %s", target, who, w.Body)
			}
		}
	}
}

// moveQuery moves a query from the middle of a path to its end.
func moveQuery(target string) string {
	path, rest, found := strings.Cut(target, "?")
	if !found {
		return target
	}
	query, more, _ := strings.Cut(rest, "/")
	if more != "" {
		path += "/" + more
	}
	return path + "?" + query
}

func TestWeb_ATurnIsItsOwnersAlone(t *testing.T) {
	for _, who := range []access.Principal{{Subject: "ann"}, {Subject: "bob", Groups: []string{"staff"}}} {
		w := do(newServer(t, options{who: who}), http.MethodGet, "/api/turns/"+stored, "")
		if w.Code != http.StatusNotFound {
			t.Errorf("as %+v: %d", who, w.Code)
		}
	}
	if w := do(newServer(t, options{}), http.MethodGet, "/api/turns/"+stored, ""); w.Code != http.StatusOK {
		t.Errorf("its own: %d %s", w.Code, w.Body)
	}
}
