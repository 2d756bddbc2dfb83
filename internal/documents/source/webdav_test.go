package source

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/webdav"
)

// davServer returns golang.org/x/net's server over a folder.
func davServer(t *testing.T) (address, dir string) {
	t.Helper()
	dir = t.TempDir()
	dav := &webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS(), Prefix: "/dav"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "anna" || password != "pw" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return "webdav" + strings.TrimPrefix(server.URL, "http") + "/dav", dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestWebDAV_ListsAndReadsAFolder(t *testing.T) {
	address, dir := davServer(t)
	write(t, filepath.Join(dir, "here/a.md"), "alpha")
	write(t, filepath.Join(dir, "here/deep/b c+ü%#.md"), "beta")
	write(t, filepath.Join(dir, "elsewhere.md"), "no")
	o := Options{Account: Account{User: "anna", Secret: "pw"}}
	s := open(t, address+"/here", o)
	first := mustList(t, s)
	if diff := cmp.Diff([]string{"a.md", "deep/b c+ü%#.md"}, paths(first)); diff != "" {
		t.Error(diff)
	}
	if got := read(t, s, "deep/b c+ü%#.md"); got != "beta" {
		t.Errorf("read %q", got)
	}
	write(t, filepath.Join(dir, "here/a.md"), "alpha is longer now")
	if second := mustList(t, s); first["a.md"] == second["a.md"] || first["deep/b c+ü%#.md"] != second["deep/b c+ü%#.md"] {
		t.Errorf("versions before and after a change: %v, %v", first, second)
	}
	_, err := list(t, open(t, address, Options{Account: Account{User: "anna", Secret: "wrong"}}))
	if refused, ok := errors.AsType[*StatusError](err); !ok || refused.Status != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestWebDAV_HidesOnlyTheFolderThatMayNotBeRead(t *testing.T) {
	address, dir := davServer(t)
	write(t, filepath.Join(dir, "open/a.md"), "alpha")
	write(t, filepath.Join(dir, "shut/b.md"), "beta")
	target, err := url.Parse("http" + strings.TrimPrefix(address, "webdav"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "shut/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.URL.Scheme, r.URL.Host, r.RequestURI = target.Scheme, target.Host, ""
		r.SetBasicAuth("anna", "pw")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
	}))
	defer server.Close()
	var seen, hidden []string
	for o, err := range open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/dav", Options{}).Objects(t.Context()) {
		if h, ok := errors.AsType[*HiddenError](err); ok {
			hidden = append(hidden, h.Path)
		} else if err != nil {
			t.Fatal(err)
		} else {
			seen = append(seen, o.Path)
		}
	}
	if diff := cmp.Diff([][]string{{"open/a.md"}, {"shut"}}, [][]string{seen, hidden}); diff != "" {
		t.Error(diff)
	}
}

// What a server does not tell of a name is not known to be a file, so what is below it must stay.
func TestWebDAV_TakesNothingForAFileThatIsNotTold(t *testing.T) {
	const ok, missing = `<d:propstat><d:status>HTTP/1.1 200 OK</d:status><d:prop><d:resourcetype/><d:getetag>"1"</d:getetag></d:prop></d:propstat>`,
		`<d:propstat><d:status>HTTP/1.1 404 Not Found</d:status><d:prop><d:resourcetype/></d:prop></d:propstat>`
	for name, c := range map[string]struct{ entries, files, hidden string }{
		"refused":       {`<d:response><d:href>/d/sub/</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>`, "", "sub"},
		"untold":        {`<d:response><d:href>/d/sub</d:href>` + missing + `</d:response>`, "", "sub"},
		"relative href": {`<d:response><d:href>a.txt</d:href>` + ok + `</d:response>`, "a.txt", ""},
		"neighbour":     {`<d:response><d:href>/dav/a.txt</d:href>` + ok + `</d:response>`, "", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusMultiStatus)
			fmt.Fprintf(w, `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/d/</d:href></d:response>%s</d:multistatus>`, c.entries)
		}))
		var files, hidden []string
		for o, err := range open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/d", Options{}).Objects(t.Context()) {
			if h, ok := errors.AsType[*HiddenError](err); ok {
				hidden = append(hidden, h.Path)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			} else {
				files = append(files, o.Path)
			}
		}
		if strings.Join(files, " ") != c.files || strings.Join(hidden, " ") != c.hidden {
			t.Errorf("%s: files %q, hidden %q", name, files, hidden)
		}
		server.Close()
	}
}

func TestWebDAV_RefusesTheListingOfAnotherFolder(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprint(w, `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/Docs/</d:href></d:response></d:multistatus>`)
	}))
	defer server.Close()
	if _, err := list(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/docs", Options{})); err == nil {
		t.Error("it was taken for an empty folder")
	}
}

func TestWebDAV_EndsAtLoopsAndIgnoresWhatWasNotAsked(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusMultiStatus)
		io.WriteString(w, `<d:multistatus xmlns:d="DAV:">`)
		for _, href := range []string{r.URL.Path, "/", "/etc/", "/d/../../up/", r.URL.Path + "again/", r.URL.Path + "%2e%2e/x/"} {
			io.WriteString(w, `<d:response><d:href>`+href+`</d:href><d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`)
		}
		io.WriteString(w, `</d:multistatus>`)
	}))
	defer server.Close()
	_, err := list(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/d", Options{}))
	if err == nil || calls.Load() > 2*maxDepth {
		t.Errorf("after %d calls: %v", calls.Load(), err)
	}
}
