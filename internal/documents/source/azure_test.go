package source

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The signatures are those that Azure's own client for Python (azure-storage-blob 12) makes of these requests.
func TestAzure_SignsAsAzuresOwnClientDoes(t *testing.T) {
	signer := azureSigner{account: "acct", key: []byte("secret-key-of-the-test"), now: func() time.Time { return time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC) }}
	for address, want := range map[string]string{
		"https://acct.blob.core.windows.net/docs?comp=list&include=metadata&maxresults=5000&prefix=a%20b%2F%C3%BC%2F&restype=container": "SharedKey acct:iGvObqPNiMPYbseBCvOyZRSxIirk0OOzXI1OASL8MTo=",
		"https://acct.blob.core.windows.net/docs/a%20b/%C3%BC/x%2By.md":                                                                 "SharedKey acct:69XWGM9mE2np1l6b+jdjgtXgn28IeXpvxTKkNX2CWrQ=",
		"http://127.0.0.1:10000/acct/docs/x.md":                                                                                         "SharedKey acct:a5zeelKlCfdu6xzEhRZGyZkmyipjKK6LmRsGyKOqRwo=",
	} {
		r := httptest.NewRequest(http.MethodGet, address, nil)
		signer.sign(r)
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// azurePage is a page of List Blobs as Azure documents it.
const azurePage = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://acct.blob.core.windows.net/" ContainerName="docs"><Prefix>here/</Prefix><Blobs>%s</Blobs><NextMarker>%s</NextMarker></EnumerationResults>`

func azureBlob(name, etag, more string) string {
	return `<Blob>` + name + `<Properties><Etag>` + etag + `</Etag><Content-Length>5</Content-Length>` + more + `</Blob>`
}

func TestAzure_ListsAndReadsAFolder(t *testing.T) {
	const token = "sv=2021-08-06&sp=rl&sig=hunter2%2B%3D"
	first := azureBlob("<Name>here/a.md</Name>", "0x1", "</Properties>") +
		azureBlob(`<Name Encoded="true">here/deep/b%20c%2B%C3%BC%25%EF%BF%BF.md</Name>`, "0x2", "</Properties>") +
		azureBlob("<Name>here/deep</Name>", "0x3", "<ResourceType>directory</ResourceType></Properties>") +
		azureBlob("<Name>here/old</Name>", "0x4", "</Properties><Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>") +
		azureBlob("<Name>here/empty/</Name>", "0x5", "</Properties>")
	second := azureBlob("<Name>here/z.md</Name>", "0x6", "</Properties>")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case q.Get("sig") != "hunter2+=" || r.Header.Get("X-Ms-Version") == "":
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, "<Error><Code>AuthenticationFailed</Code></Error>")
		case r.URL.Path == "/docs" && q.Get("comp") == "list" && q.Get("restype") == "container" && q.Get("prefix") == "here/":
			if q.Get("marker") == "" {
				fmt.Fprintf(w, azurePage, first, "m 2")
			} else if q.Get("marker") == "m 2" {
				fmt.Fprintf(w, azurePage, second, "")
			}
		case r.URL.Path == "/docs/here/deep/b c+ü%\uffff.md":
			io.WriteString(w, "beta!")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	s := open(t, "azblob://acct/docs/here", Options{Account: Account{Endpoint: server.URL, Secret: "?" + token}})
	if diff := cmp.Diff(map[string]string{"a.md": "0x1", "deep/b c+ü%\uffff.md": "0x2", "z.md": "0x6"}, mustList(t, s)); diff != "" {
		t.Error(diff)
	}
	if got := read(t, s, "deep/b c+ü%\uffff.md"); got != "beta!" {
		t.Errorf("read %q", got)
	}
	if _, err := s.Open(t.Context(), Object{key: "here/gone.md"}); !errors.Is(err, ErrRefused) {
		t.Errorf("a blob that is gone: %v", err)
	}
	_, err := list(t, open(t, "azblob://acct/docs/here", Options{Account: Account{Endpoint: server.URL, Secret: "sig=wrong"}}))
	if err == nil || !strings.Contains(err.Error(), "AuthenticationFailed") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with another signature: %v", err)
	}
}

func TestAzure_EndsAListingThatDoesNotEnd(t *testing.T) {
	for name, page := range map[string]string{
		"the same marker":  fmt.Sprintf(azurePage, "", "m"),
		"not a listing":    "<html>Sign in</html>",
		"another's prefix": fmt.Sprintf(azurePage, azureBlob("<Name>elsewhere/x</Name>", "0x1", "</Properties>"), ""),
		"no version":       fmt.Sprintf(azurePage, azureBlob("<Name>here/x</Name>", "", "</Properties>"), ""),
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) }))
		if _, err := list(t, open(t, "azblob://acct/docs/here", Options{Account: Account{Endpoint: server.URL}})); err == nil {
			t.Errorf("%s: no error", name)
		}
		server.Close()
	}
}

func TestAzure_ShowsNoSecretInErrors(t *testing.T) {
	for _, c := range []struct{ address, secret string }{
		{"azblob://acct/docs", "hunter2 is not base64"}, {"azblob://acct/docs", "sig=hunter2%zz"}, {"azblob://acct", ""},
	} {
		a, err := Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Open(t.Context(), Options{Account: Account{Secret: c.secret}}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s with %s: %v", c.address, c.secret, err)
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	s := open(t, "azblob://acct/docs", Options{Account: Account{Endpoint: closed.URL, Secret: "sig=hunter2"}}).(limited).of.(*container)
	s.pause = time.Millisecond
	_, err := list(t, limited{s})
	if u := new(url.Error); err == nil || errors.As(err, &u) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a server that is away: %v", err)
	}
}
