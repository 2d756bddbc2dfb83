package llmtest

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

var record = flag.Bool("record", false, "renew the fixtures that the provider itself can answer; needs its key")

// Live is a provider's real API.
type Live struct {
	Need string // the environment variable of the key
	Key  string // "" skips the recording
	// Open returns the provider at its own address, with the key. It calls the API through client.
	Open func(client *http.Client) (llm.Model, error)
	// Replay returns the provider for an upstream at url, as in RunFixtures.
	Replay func(t *testing.T, url string, short bool) llm.Model
	Dir    string    // of the fixtures; "" means testdata
	Now    time.Time // the day in the marks; zero means today
}

// Limits of a recording.
const (
	recordTime   = 2 * time.Minute
	maxRecording = 1 << 20
)

// RecordIfAsked calls Record if the flag -record is set.
func RecordIfAsked(t *testing.T, live Live) {
	if !*record {
		t.Skip("only with -record")
	}
	Record(t, live)
}

// Record sends the real API the requests of the fixtures that have a file "record", and replaces their
// answers: without keys, with ids and times that do not change, and with the mark "Recorded". It leaves
// other fixtures alone, because they show what no API returns on request, such as an error.
//
//	OPENAI_API_KEY=… go test ./internal/llm/openai -record
func Record(t *testing.T, live Live) {
	if live.Key == "" {
		t.Skipf("nothing is recorded without a key: set %s", live.Need)
	}
	live.Dir = cmp.Or(live.Dir, "testdata")
	if live.Now.IsZero() {
		live.Now = time.Now()
	}
	paths, err := filepath.Glob(filepath.Join(live.Dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !has(archive, "record") {
			continue
		}
		recorded++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { live.renew(t, path, archive) })
	}
	if recorded == 0 {
		t.Errorf("no fixture in %s has a file named record", live.Dir)
	}
}

func (l *Live) renew(t *testing.T, path string, archive *txtar.Archive) {
	tap := &tap{}
	client := &http.Client{Transport: tap, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ctx, cancel := context.WithTimeout(t.Context(), recordTime)
	defer cancel()
	model, err := l.Open(client)
	if err != nil {
		t.Fatal(err)
	}
	if got := Ask(ctx, model, request(t, file(t, archive, "ask").Data)); got.Err != nil {
		t.Fatalf("nothing was recorded: %v", got.Err)
	}
	response := scrub(fmt.Sprintf("%d %s\n\n%s", tap.status, tap.kind, tap.body.String()), l.Key)
	if found := suspicious.FindString(response); found != "" || strings.Contains(response, l.Key) {
		t.Fatalf("the answer holds what may be a secret, %.8s…: teach scrub to replace it", found)
	}
	file(t, archive, "response").Data = []byte(response)
	sent, gave := play(t, file(t, archive, "ask").Data, []byte(response), l.Replay)
	file(t, archive, "request").Data, file(t, archive, "chunks").Data = []byte(sent), []byte(gave)
	archive.Comment = marked(archive.Comment, l.Now, tap.host)
	write(t, path, archive)
}

// tap is a transport that keeps the last answer.
type tap struct {
	status int
	kind   string
	host   string
	body   bytes.Buffer
}

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	t.status, t.kind, t.host = resp.StatusCode, resp.Header.Get("Content-Type"), r.URL.Hostname()
	t.body.Reset()
	kept := &limited{&t.body}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, kept), resp.Body}
	return resp, nil
}

// limited refuses data that is too long for a fixture.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	if l.to.Len()+len(b) > maxRecording {
		return 0, fmt.Errorf("the answer is over %d bytes", maxRecording)
	}
	return l.to.Write(b)
}

var (
	// ids are members whose values differ from call to call. Equal values stay equal.
	ids = lazyregexp.New(`"(id|responseId|system_fingerprint|request_id|call_id)"(\s*:\s*)"([^"]+)"`)
	// opaque are members whose values mean something only to the provider.
	opaque = lazyregexp.New(`"(obfuscation|signature|thoughtSignature|data)"(\s*:\s*)"[^"]+"`)
	times  = lazyregexp.New(`"(created|created_at|total_duration|load_duration|prompt_eval_duration|eval_duration)"(\s*:\s*)("[^"]*"|\d+)`)
	// suspicious matches text that still looks like a key.
	suspicious = lazyregexp.New(`(?i)\b(?:sk|pk|AIza|gsk|eyJ)[-_A-Za-z0-9]{16,}|Bearer \S+|[A-Za-z0-9+/_-]{48,}`)
)

// scrub replaces the secrets of a response and the values that change from call to call.
func scrub(response, key string) string {
	for _, secret := range []string{key, url.QueryEscape(key)} {
		response = strings.ReplaceAll(response, secret, "test-key")
	}
	names := map[string]string{}
	counts := map[string]int{}
	response = ids.ReplaceAllStringFunc(response, func(found string) string {
		m := ids.FindStringSubmatch(found)
		if names[m[3]] == "" {
			prefix, _, ok := strings.Cut(strings.ReplaceAll(m[3], "-", "_"), "_")
			if !ok || len(prefix) > 10 {
				prefix = "id"
			}
			counts[prefix]++
			names[m[3]] = fmt.Sprintf("%s_%d", prefix, counts[prefix])
		}
		return `"` + m[1] + `"` + m[2] + `"` + names[m[3]] + `"`
	})
	response = opaque.ReplaceAllString(response, `"$1"$2"c2ln"`)
	return times.ReplaceAllStringFunc(response, func(found string) string {
		m := times.FindStringSubmatch(found)
		if strings.HasPrefix(m[3], `"`) {
			return `"` + m[1] + `"` + m[2] + `"2026-01-01T00:00:00Z"`
		}
		return `"` + m[1] + `"` + m[2] + "1"
	})
}

var mark = lazyregexp.New(`^(?:Hand-made|Recorded on \S+ from \S+, without keys and ids,) after`)

// marked returns the comment of a fixture whose answer is a recording.
func marked(comment []byte, now time.Time, host string) []byte {
	return mark.ReplaceAll(comment, fmt.Appendf(nil, "Recorded on %s from %s, without keys and ids, after", now.Format(time.DateOnly), host))
}
