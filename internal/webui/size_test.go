package webui

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"
)

// maxFirstLoad is the limit in bytes, compressed, of the page's first load.
const maxFirstLoad = 90 << 10

func TestNew_HasAPageThatIsLight(t *testing.T) {
	site := New()
	total := 0
	load := func(serve func(w http.ResponseWriter, r *http.Request) bool) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		if !serve(w, r) {
			t.Fatal("the page lacks a file")
		}
		total += w.Body.Len()
	}
	load(site.Index)
	assets, err := fs.ReadDir(site.files, "assets")
	if err != nil || len(assets) < 3 {
		t.Fatalf("the page has the assets %v: %v", assets, err)
	}
	for _, asset := range assets {
		load(func(w http.ResponseWriter, r *http.Request) bool { return site.Asset(w, r, asset.Name()) })
	}
	t.Logf("the first load is %d bytes, compressed", total)
	if total > maxFirstLoad {
		t.Errorf("the first load is %d bytes, compressed; at most %d are allowed", total, maxFirstLoad)
	}
}
