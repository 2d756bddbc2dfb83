package source

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// fakeS3 returns a server that others made, with a bucket of these objects.
func fakeS3(t *testing.T, objects map[string]string) (address string, put func(key, body string)) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("docs"); err != nil {
		t.Fatal(err)
	}
	put = func(key, body string) {
		t.Helper()
		if _, err := backend.PutObject("docs", key, map[string]string{}, strings.NewReader(body), int64(len(body)), nil); err != nil {
			t.Fatal(err)
		}
	}
	for key, body := range objects {
		put(key, body)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return server.URL, put
}

func TestS3_ListsAndReadsAFolder(t *testing.T) {
	endpoint, put := fakeS3(t, map[string]string{
		"public/a.md": "alpha", "public/deep/b c+ü%.md": "beta", "public/": "", "public/empty/": "", "publicly.md": "no", "secret.md": "no",
	})
	o := Options{Account: Account{User: "id", Secret: "key", Endpoint: endpoint}}
	s := open(t, "s3://docs/public", o)
	first := mustList(t, s)
	if diff := cmp.Diff([]string{"a.md", "deep/b c+ü%.md"}, paths(first)); diff != "" {
		t.Error(diff)
	}
	if got := read(t, s, "deep/b c+ü%.md"); got != "beta" {
		t.Errorf("read %q", got)
	}
	put("public/a.md", "alpha 2")
	second := mustList(t, s)
	if first["a.md"] == second["a.md"] || first["deep/b c+ü%.md"] != second["deep/b c+ü%.md"] {
		t.Errorf("versions before and after a change: %v, %v", first, second)
	}
}

func TestS3_FollowsPages(t *testing.T) {
	objects := map[string]string{}
	for i := range 2500 {
		objects["d/"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+"-"+time.Duration(i).String()+".txt"] = "t"
	}
	endpoint, _ := fakeS3(t, objects)
	if got := len(mustList(t, open(t, "s3://docs", Options{Account: Account{Endpoint: endpoint}}))); got != len(objects) {
		t.Errorf("%d of %d objects", got, len(objects))
	}
}

// Amazon's example "GET Bucket Lifecycle" signs a hash of the body, and we do not, so its signature cannot be compared. This
// checks what a signature depends on, and its form.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func TestS3_SignsTheHostTheQueryAndTheTime(t *testing.T) {
	sign := func(address, secret string, at time.Time) string {
		r := httptest.NewRequest(http.MethodGet, address, nil)
		signer{user: "AKIAIOSFODNN7EXAMPLE", secret: secret, region: "us-east-1", now: func() time.Time { return at }}.sign(r)
		return r.Header.Get("Authorization")
	}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	one := sign("https://examplebucket.s3.amazonaws.com/?lifecycle=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at)
	if !strings.HasPrefix(one, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=") {
		t.Error(one)
	}
	for _, other := range []string{
		sign("https://other.s3.amazonaws.com/?lifecycle=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at),
		sign("https://examplebucket.s3.amazonaws.com/?acl=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at),
		sign("https://examplebucket.s3.amazonaws.com/?lifecycle=", "other", at),
		sign("https://examplebucket.s3.amazonaws.com/?lifecycle=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at.Add(time.Second)),
	} {
		if other == one {
			t.Error("the signature does not depend on what it signs")
		}
	}
}

func TestS3_EndsAListingThatDoesNotEnd(t *testing.T) {
	for name, page := range map[string]string{
		"the same token":   `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>`,
		"no token":         `<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`,
		"not a listing":    `<html>Sign in</html>`,
		"another's prefix": `<ListBucketResult><Contents><Key>elsewhere/x.txt</Key><Size>1</Size></Contents></ListBucketResult>`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) }))
		_, err := list(t, open(t, "s3://docs/here", Options{Account: Account{Endpoint: server.URL}}))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		server.Close()
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		io.WriteString(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>`+time.Duration(n).String()+`</NextContinuationToken></ListBucketResult>`)
	}))
	defer server.Close()
	if _, err := list(t, open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL}})); err == nil || n > 2*maxBarren {
		t.Errorf("after %d empty pages: %v", n, err)
	}
}
