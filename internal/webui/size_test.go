package webui

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

// Limits in bytes, compressed: of the page's first load, and of each file that it loads on demand.
const (
	maxFirstLoad = 74 << 10
	maxOnDemand  = 25 << 10
)

// What a document and a script load at once. A script names what it loads on demand in import().
var (
	inDocument = regexp.MustCompile(`/assets/([\w.-]+)`)
	inScript   = regexp.MustCompile(`(?:from|import)\s*"\./([\w.-]+)"`)
	inLanguage = regexp.MustCompile(`^([a-z]{2}-\w+\.js)$`)
)

func TestNew_HasAPageThatIsLight(t *testing.T) {
	site := New()
	read := func(name string) (plain string, compressed int) {
		body, err := fs.ReadFile(site.files, name)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		if !site.serve(w, r, name) {
			t.Fatalf("%s is not served", name)
		}
		return string(body), w.Body.Len()
	}
	page, total := read("index.html")
	first := map[string]bool{}
	var load func(names [][]string)
	load = func(names [][]string) {
		for _, name := range names {
			if first[name[1]] {
				continue
			}
			first[name[1]] = true
			script, size := read("assets/" + name[1])
			total += size
			load(inScript.FindAllStringSubmatch(script, -1))
		}
	}
	load(inDocument.FindAllStringSubmatch(page, -1))
	load(largest(t, site, inLanguage))
	if t.Logf("the first load is %d bytes, compressed", total); total > maxFirstLoad || len(first) < 4 {
		t.Errorf("the first load is %d bytes of %d files, compressed; at most %d are allowed", total, len(first), maxFirstLoad)
	}
	assets, err := fs.ReadDir(site.files, "assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, asset := range assets {
		if _, size := read("assets/" + asset.Name()); !first[asset.Name()] && size > maxOnDemand {
			t.Errorf("%s is %d bytes, compressed; at most %d are allowed", asset.Name(), size, maxOnDemand)
		}
	}
}

// largest returns the match of the largest asset whose name matches: the page loads the texts of one language.
func largest(t *testing.T, site *Site, name *regexp.Regexp) (match [][]string) {
	t.Helper()
	assets, err := fs.ReadDir(site.files, "assets")
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, asset := range assets {
		info, err := asset.Info()
		if err != nil {
			t.Fatal(err)
		}
		if m := name.FindStringSubmatch(asset.Name()); m != nil && info.Size() > size {
			match, size = [][]string{m}, info.Size()
		}
	}
	if match == nil {
		t.Fatal("no asset holds the texts of a language")
	}
	return match
}
