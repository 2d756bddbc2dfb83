package documents

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley/internal/access"
	"parley/internal/documents/source"
	"parley/internal/retrieval"
	"parley/test/needs"
)

// A document of Nextcloud is found by those with whom it is shared there, and by nobody else. The file is fetched once.
func TestIngest_ADocumentIsForThoseWhoMayReadItAtItsSource(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	var gets atomic.Int32
	folder, file := "", "" // <nc:sharee> elements
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const home = "/remote.php/dav/files/anna"
		if r.URL.Path == "/status.php" {
			io.WriteString(w, `{"installed":true,"version":"31.0.2.1","versionstring":"31.0.2","edition":"","productname":"Nextcloud"}`)
			return
		}
		if r.Method == http.MethodGet {
			gets.Add(1)
			io.WriteString(w, "---\nusers: [mallory]\n---\nThe canteen serves zucchini on Tuesdays.")
			return
		}
		response := func(path, kind, sharees string) {
			fmt.Fprintf(w, `<d:response><d:href>%s</d:href><d:propstat><d:prop><d:resourcetype>%s</d:resourcetype><d:getetag>"e"</d:getetag><oc:owner-id>anna</oc:owner-id>`+
				`<nc:sharees>%s</nc:sharees></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`, path, kind, sharees)
		}
		if !strings.HasPrefix(r.URL.Path, home) {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(http.StatusMultiStatus)
		io.WriteString(w, `<d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns" xmlns:nc="http://nextcloud.org/ns">`)
		if response(strings.TrimSuffix(r.URL.Path, "/")+"/", "<d:collection/>", folder); strings.Trim(r.URL.Path, "/") == strings.Trim(home+"/Docs", "/") {
			response(home+"/Docs/canteen.md", "", file)
		}
		io.WriteString(w, `</d:multistatus>`)
	}))
	defer server.Close()
	a, err := source.Parse("webdav" + strings.TrimPrefix(server.URL, "http") + "/remote.php/dav/files/anna/Docs")
	if err != nil {
		t.Fatal(err)
	}
	rights := true
	service := New(Config{
		Data: s.data, Cache: needs.ParserCache(), Namespace: "default", Workers: 1,
		Store: s.db.Corpus(), Corpus: s.corpus, Blobs: s.db.Blobs(), Disk: s.db, Jobs: s.db.Jobs(), Vectors: s.db.Corpus(),
		Said: func(source.Address) SaidOfSource { return SaidOfSource{Rights: rights} },
	})
	people := map[string]access.Principal{
		"anna": {Subject: "anna"}, "bob": {Subject: "bob"}, "carol": {Subject: "carol", Groups: []string{"staff"}}, "mallory": {Subject: "mallory"}, "anonymous": access.Anonymous,
	}
	found := func(want ...string) {
		t.Helper()
		if _, err := service.Ingest(t.Context(), Sources{Remotes: []source.Address{a}}, nil); err != nil {
			t.Fatal(err)
		}
		var all []string
		for name, who := range people {
			res, err := s.corpus.Search(t.Context(), retrieval.Query{Filter: retrieval.Filter{Principal: who, Namespace: "default"}, Text: "zucchini", Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Passages) > 0 {
				all = append(all, name)
			}
			list, err := s.db.Corpus().Documents(t.Context(), retrieval.Filter{Principal: who, Namespace: "default"}, "", 10)
			if err != nil || len(list) != len(res.Passages) {
				t.Errorf("%s finds %d passages and lists %d documents, %v", name, len(res.Passages), len(list), err)
			}
		}
		if slices.Sort(all); !slices.Equal(all, want) {
			t.Errorf("found by %q, want %q", all, want)
		}
	}
	found("anna")
	file = `<nc:sharee><nc:id>bob</nc:id><nc:type>0</nc:type></nc:sharee>`
	found("anna", "bob")
	folder = `<nc:sharee><nc:id>staff</nc:id><nc:type>1</nc:type></nc:sharee>`
	found("anna", "bob", "carol")
	file = ""
	found("anna", "carol")
	if _, err := s.corpus.PutRule(t.Context(), "default", retrieval.Rule{Path: "canteen.md", Access: access.List{Users: []string{"bob"}}}); err != nil {
		t.Fatal(err)
	}
	folder = ""
	found("bob") // an owner of the namespace has said so over HTTP
	if _, err := service.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	found("bob")
	if _, err := s.corpus.DropRule(t.Context(), "default", "canteen.md", ""); err != nil {
		t.Fatal(err)
	}
	found("anna")
	file = `<nc:sharee><nc:id>bob</nc:id><nc:type>0</nc:type></nc:sharee>`
	found("anna", "bob")
	if _, err := service.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	file = ""
	found("anna")
	if n := gets.Load(); n != 1 {
		t.Errorf("the file was fetched %d times", n)
	}
	rights = false
	found("mallory") // the file decides again
}
