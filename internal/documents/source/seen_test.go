package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
)

// only returns the only object of a source.
func only(t *testing.T, s Source) (found Object) {
	t.Helper()
	for o, err := range s.Objects(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found = o
	}
	return found
}

// wantChanged checks that an object which has changed since it was listed is not read.
func wantChanged(t *testing.T, s Source, o Object) {
	t.Helper()
	r, err := s.Open(t.Context(), o)
	if !errors.Is(err, ErrRefused) || !strings.Contains(fmt.Sprint(err), "has changed since") || r != nil {
		t.Errorf("after a change: %v, %v", r, err)
	}
}

// wantOpens checks that an object can be read.
func wantOpens(t *testing.T, s Source, o Object) {
	t.Helper()
	r, err := s.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Content that is newer than the listed rights might be for fewer people.
func TestOpen_WithRightsReadsOnlyWhatWasListed(t *testing.T) {
	const azureACL = "<Owner>anna</Owner><Group>staff</Group><Acl>user::rwx,group::r-x,other::---</Acl><ResourceType>file</ResourceType></Properties>"
	etag := `"e1"`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodOptions:
			w.Header().Set("DAV", "1, access-control")
		case r.Method == "PROPFIND":
			w.WriteHeader(http.StatusMultiStatus)
			response := `<d:response><d:href>%s</d:href><d:propstat><d:prop><d:getetag>%s</d:getetag>` + forAll + `</d:prop></d:propstat></d:response>`
			fmt.Fprintf(w, `<d:multistatus xmlns:d="DAV:">`+response+response+`</d:multistatus>`, "/docs/", "", "/docs/a.md", etag)
		case r.Method == http.MethodHead:
			w.Header().Set("X-Ms-Acl", "user::rwx,group::r-x,other::--x")
		case query.Get("comp") == "list":
			fmt.Fprintf(w, azurePage, azureBlob("<Name>a.md</Name>", strings.Trim(etag, `"`), azureACL), "")
		case query.Has("list-type"):
			fmt.Fprintf(w, `<ListBucketResult><Contents><Key>a.md</Key><Size>1</Size><ETag>%s</ETag></Contents></ListBucketResult>`, etag)
		case query.Has("acl"):
			io.WriteString(w, `<AccessControlList/>`)
		case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag:
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	}))
	defer server.Close()
	for _, address := range []string{"gs://docs", "azblob://acct/docs", "webdav" + strings.TrimPrefix(server.URL, "http") + "/docs"} {
		o := Options{Account: Account{Endpoint: server.URL}, Rights: true}
		etag = `"e1"`
		s := open(t, address, o)
		listed := only(t, s)
		o.Rights = false
		without := open(t, address, o)
		plain := only(t, without)
		wantOpens(t, s, listed)
		etag = `"e2"`
		wantChanged(t, s, listed)
		wantOpens(t, without, plain)
	}
	for etag, want := range map[string]string{`"a"`: `"a"`, `0x8D`: `"0x8D"`, `W/"a"`: "", "": ""} {
		if got := strong(etag); got != want {
			t.Errorf("%s: %s, want %s", etag, got, want)
		}
	}
}

func TestSFTP_WithRightsReadsOnlyWhatWasListed(t *testing.T) {
	address, known, dir, _ := sftpServer(t)
	file := filepath.Join(dir, "here", "a.md")
	write(t, file, "text")
	o := Options{Account: Account{User: "anna", Secret: "pw", KnownHosts: known}, Rights: true}
	s := open(t, "sftp://"+address+filepath.ToSlash(dir)+"/here", o)
	listed := only(t, s)
	wantOpens(t, s, listed)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	wantChanged(t, s, listed)
	listed = only(t, s)
	wantOpens(t, s, listed)
	write(t, file, "text 2")
	wantChanged(t, s, listed)
}

// The order of the values is that of "Authorize with Shared Key", which has If-Match as the eighth.
func TestAzure_SignsIfMatch(t *testing.T) {
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	r := httptest.NewRequest(http.MethodGet, "https://acct.blob.core.windows.net/docs/x.md", nil)
	r.Header.Set("If-Match", `"0x1"`)
	azureSigner{account: "acct", key: []byte("k"), now: func() time.Time { return now }}.sign(r)
	lines := []string{"GET", "", "", "", "", "", "", "", `"0x1"`, "", "", "", "x-ms-date:" + now.Format(http.TimeFormat), "x-ms-version:" + azureVersion, "/acct/docs/x.md"}
	h := hmac.New(sha256.New, []byte("k"))
	io.WriteString(h, strings.Join(lines, "\n"))
	if got, want := r.Header.Get("Authorization"), "SharedKey acct:"+base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Whoever may write the names could be anybody.
func TestSFTP_ReadsNamesOnlyFromFilesOfTheAdministrator(t *testing.T) {
	for _, c := range []struct {
		uid, mode uint32
		good      bool
	}{{0, 0o100644, true}, {0, 0o100444, true}, {0, 0o100664, false}, {0, 0o100646, false}, {1000, 0o100644, false}} {
		if err := checkNames(sftpInfo{&sftp.FileStat{UID: c.uid, Mode: c.mode}}); (err == nil) != c.good {
			t.Errorf("%o of %d: %v", c.mode, c.uid, err)
		}
	}
}

type sftpInfo struct{ stat *sftp.FileStat }

func (i sftpInfo) Name() string       { return "" }
func (i sftpInfo) Size() int64        { return 0 }
func (i sftpInfo) Mode() fs.FileMode  { return 0 }
func (i sftpInfo) ModTime() time.Time { return time.Time{} }
func (i sftpInfo) IsDir() bool        { return false }
func (i sftpInfo) Sys() any           { return i.stat }
