package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// list returns the versions of the objects of a source, by path, and the first error.
func list(t *testing.T, s Source) (map[string]string, error) {
	t.Helper()
	all := map[string]string{}
	for o, err := range s.Objects(t.Context()) {
		if err != nil {
			return all, err
		}
		if o.Link {
			continue
		}
		if o.Version == "" {
			t.Errorf("%s has no version", o.Path)
		}
		all[o.Path] = o.Version
	}
	return all, nil
}

// mustList is list without an error.
func mustList(t *testing.T, s Source) map[string]string {
	t.Helper()
	all, err := list(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// read returns the content of the object at a path.
func read(t *testing.T, s Source, path string) string {
	t.Helper()
	for o, err := range s.Objects(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if o.Path != path {
			continue
		}
		r, err := s.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	t.Fatalf("%s is not listed", path)
	return ""
}

// open opens an address, and closes it at the end of the test.
func open(t *testing.T, address string, o Options) Source {
	t.Helper()
	a, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if o.Cache == "" {
		o.Cache = t.TempDir()
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	s, err := a.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func paths(all map[string]string) []string { return slices.Sorted(maps.Keys(all)) }

func TestParse_KeepsSecretsOutOfAddresses(t *testing.T) {
	for _, bad := range []string{
		"s3://key:hunter2@bucket", "webdavs://host/x?token=hunter2", "git+https://host/r?sig=hunter2", "s3://", "ftp://host/hunter2",
		"git+https://u:hunter2@host/r", "s3://bucket/a#hunter2", "s3://bucket/%zz", "s3://bu\x00cket",
	} {
		a, err := Parse(bad)
		if err == nil {
			t.Errorf("%s is accepted as %s", bad, a)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error for %s repeats the secret: %v", bad, err)
		}
	}
}

func TestParse_GivesEachSourceOneAddress(t *testing.T) {
	for in, want := range map[string]string{
		"S3://Bucket/a/b/":                    "s3://bucket/a/b",
		"s3://bucket/":                        "s3://bucket",
		"s3://bucket/a/../../b":               "s3://bucket/b",
		"git+https://h/r.git?path=d&ref=main": "git+https://h/r.git?path=d&ref=main",
		"webdavs://me@h/a%20b":                "webdavs://me@h/a%20b",
	} {
		a, err := Parse(in)
		if err != nil || a.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, a, err, want)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "../a", "a/../b", "a/..", "/a", "a//b", `a\..\b`, `..\b`, "a\x00b", "a\nb", "a/", "./a", "a\xff", strings.Repeat("x", 3000)} {
		if CheckPath(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"a", "a/b.txt", "a b/ü.md", "..a/b..", "a:b"} {
		if err := CheckPath(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// Secrets do not go to another host, and errors do not show them.
func TestHTTP_DoesNotFollowRedirectsToOtherHosts(t *testing.T) {
	var told atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { told.Add(1) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/?leak=yes", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http")
	short := func(s Source) Source {
		switch s := s.(limited).of.(type) {
		case *bucket:
			s.pause = time.Millisecond
		case *davFolder:
			s.pause = time.Millisecond
		}
		return s
	}
	for _, s := range []Source{
		open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL, User: "u", Secret: "hunter2"}}),
		open(t, "webdav"+host, Options{Account: Account{User: "u", Secret: "hunter2"}}),
	} {
		if _, err := list(t, short(s)); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "leak") {
			t.Errorf("%T: %v", s, err)
		}
	}
	a, err := Parse("git+http" + host + "/r.git")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = a.Open(t.Context(), Options{Cache: t.TempDir(), Account: Account{User: "u", Secret: "hunter2"}}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("git: %v", err)
	}
	if told.Load() > 0 {
		t.Errorf("the other host was called %d times", told.Load())
	}
}

func TestHTTP_TriesAgainWhatMayPass(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := calls.Add(1); n < callTries {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, `<ListBucketResult><Contents><Key>a.md</Key><Size>5</Size><ETag>"e"</ETag></Contents></ListBucketResult>`)
	}))
	defer server.Close()
	s := open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL}}).(limited).of.(*bucket)
	s.pause = time.Millisecond
	if all, err := list(t, s); err != nil || all["a.md"] != "e" {
		t.Errorf("after %d calls: %v, %v", calls.Load(), all, err)
	}
}

// A server that sends a byte now and then does not hold a run for ever, and a context ends every call.
func TestHTTP_EndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<List")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	s := open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL}}).(limited).of.(*bucket)
	body, err := s.call(t.Context(), http.MethodGet, server.URL, nil, nil, 50*time.Millisecond, http.StatusOK)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body.Body); !errors.Is(err, errSlow) {
		t.Errorf("a slow body: %v", err)
	}
	body.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.page(ctx, ""); err == nil {
		t.Error("a cancelled call has no error")
	}
}

func TestDocs_ListTheKinds(t *testing.T) {
	const file, header = "../../../docs/ingestion.md", "| kind | address | account | how changes are known | not read | rights with `source_rights` |\n|---|---|---|---|---|---|\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), header)
	_, after, ended := strings.Cut("\n"+rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table of kinds", file)
	}
	rows := ""
	for _, k := range Table {
		rows += fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s |\n", k.Name, k.Address, k.Account, k.Changes, k.Limits, k.Rights)
	}
	want := before + header + rows + "\n" + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the kinds as they are: go test ./internal/documents/source -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTable_IsConsistent(t *testing.T) {
	owners := map[string]string{}
	for _, k := range Table {
		for _, s := range k.Schemes {
			if owners[s] != "" {
				t.Errorf("%s and %s have the scheme %s", owners[s], k.Name, s)
			}
			owners[s] = k.Name
			if KindOf(s+"://x").Name != k.Name {
				t.Errorf("%s:// is not of the kind %s", s, k.Name)
			}
		}
		if k.Name == "" || k.Address == "" || k.Changes == "" || k.Limits == "" || k.Rights == "" {
			t.Errorf("%s: a column is empty", k.Name)
		}
	}
}
