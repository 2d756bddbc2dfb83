package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/auth"
	"parley/test/needs"
)

// uploadBody returns a form with files, and its content type.
func uploadBody(t *testing.T, files map[string]string) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for name, content := range files {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return form.FormDataContentType(), b.Bytes()
}

// jobState is a job as a client reads it.
type jobState struct {
	ID        string
	JobID     string `json:"job_id"`
	State     string
	Message   string
	Indexed   int
	Unchanged int
	Failed    int
	Total     int `json:"files_total"`
	Files     []struct{ Name, State, Reason string }
}

func uploadTo(t *testing.T, addr string, files map[string]string) string {
	t.Helper()
	contentType, body := uploadBody(t, files)
	res, err := http.Post("http://"+addr+"/upload", contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var accepted jobState
	if err := json.NewDecoder(res.Body).Decode(&accepted); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("POST /upload: status %d, %v", res.StatusCode, err)
	}
	return accepted.JobID
}

func jobAt(t *testing.T, addr, id string) (j jobState) {
	t.Helper()
	status, body, err := call(http.MethodGet, "http://"+addr+"/api/jobs/"+id, "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET the job: status %d, %v: %s", status, err, body)
	}
	if err := json.Unmarshal([]byte(body), &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// lastEvent follows a job to its end, and returns the number of events and the last one.
func lastEvent(t *testing.T, addr, id string) (n int, last jobState) {
	t.Helper()
	client := http.Client{Timeout: 2 * time.Minute}
	res, err := client.Get("http://" + addr + "/api/jobs/" + id + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(events)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			n, last = n+1, jobState{}
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n, last
}

func TestServe_KilledInTheMiddleOfAnUploadGoesOnWithIt(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	const n = 300
	files := map[string]string{"broken.pdf": "%PDF-1.7 and nothing behind it"}
	for i := range n {
		files[fmt.Sprintf("station-%04d.md", i)] = fmt.Sprintf("# Station %d\n\nThe keeper of station%04d is called Keeper%04d.\n\n%s", i, i, i,
			strings.Repeat("The station is open all year and lies on the coast, where the wind is strong. ", 40))
	}
	data := filepath.Join(t.TempDir(), "data")
	p := startServe(t, nil, "--data", data)
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	id := uploadTo(t, p.addr, files)
	for round := range 3 {
		goal := (round + 1) * n / 10
		if err := poll("files of the job", func() bool { j := jobAt(t, p.addr, id); return j.Indexed+j.Unchanged >= goal }); err != nil {
			t.Fatal(err)
		}
		p.signal(t, syscall.SIGKILL)
		p = startServe(t, nil, "--data", data)
		if err := awaitReady(p.addr); err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: %+v", round, jobAt(t, p.addr, id).Message)
	}
	events, j := lastEvent(t, p.addr, id)
	if j.State != "partial" || j.Total != n+1 || j.Indexed+j.Unchanged != n || j.Failed != 1 || events == 0 {
		t.Fatalf("after %d events the job ended as %s: %d of %d indexed, %d failed: %s", events, j.State, j.Indexed+j.Unchanged, j.Total, j.Failed, j.Message)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		_, body, err := call(http.MethodPost, "http://"+p.addr+"/chat",
			fmt.Sprintf(`{"messages":[{"role":"user","content":"Who is the keeper of station%04d?"}]}`, i))
		if want := fmt.Sprintf("Keeper%04d", i); err != nil || !strings.Contains(body, want) || !strings.Contains(body, fmt.Sprintf("[station-%04d.md]", i)) {
			t.Errorf("the answer on station %d is %.300s, %v", i, body, err)
		}
	}
	// A deleted document is gone at once and after a restart.
	if status, body, err := call(http.MethodPost, "http://"+p.addr+"/delete_uploaded", `{"filename":"station-0000.md"}`); err != nil || status != 200 {
		t.Fatalf("delete: status %d, %v: %s", status, err, body)
	}
	for round := range 2 {
		status, _, err := call(http.MethodGet, "http://"+p.addr+"/content/station-0000.md", "")
		_, list, _ := call(http.MethodGet, "http://"+p.addr+"/list_uploaded", "")
		if err != nil || status != http.StatusNotFound || strings.Contains(list, "station-0000") || !strings.Contains(list, "station-0001") {
			t.Errorf("after the deletion: status %d, %v, list %.100s", status, err, list)
		}
		if round == 0 {
			p.signal(t, syscall.SIGKILL)
			p = startServe(t, nil, "--data", data)
			if err := awaitReady(p.addr); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestServe_UploadsWaitForTheIngestionAtTheStart(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeCorpus(t, docs, 300)
	p := startServe(t, nil, docs, "--data", data)
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	id := uploadTo(t, p.addr, map[string]string{"zebra.md": "The zebra allowance is 412 euros.", "station-0001.md": "Another one of this name."})
	_, j := lastEvent(t, p.addr, id)
	if j.State != "done" || j.Indexed != 2 {
		t.Errorf("the job ended as %+v", j)
	}
	if err := poll("the ingestion", func() bool { _, running := documentsAt(t, p.addr); return !running }); err != nil {
		t.Fatal(err)
	}
	if n, _ := documentsAt(t, p.addr); n != 302 {
		t.Errorf("%d documents, want 302", n)
	}
	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v", err)
	}
	// Ingesting the folder around the data folder does not ingest uploads.
	parley(t, "ingest", docs, "--data", data)
	if out := parley(t, "ask", "--json", "What is the zebra allowance?", "--data", data); !strings.Contains(out, "412 euros") {
		t.Errorf("the upload is not found: %s", out)
	}
}

func TestServe_WithoutTheSettingStrangersCannotWrite(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	p := startServe(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--public-url", "https://chat.example.com")
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	contentType, body := uploadBody(t, map[string]string{"a.md": "x"})
	res, err := http.Post("http://"+p.addr+"/upload", contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("POST /upload: status %d, want 403", res.StatusCode)
	}
}

func TestConfig_SaysWhoMayAskAndChangeDocuments(t *testing.T) {
	t.Parallel()
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}
	all := &net.TCPAddr{IP: net.IPv4zero, Port: 8000}
	for _, c := range []struct {
		uploads, anonymous, publicURL string
		addr                          net.Addr
		changes                       auth.Changes
		asks                          bool // without signing in
	}{
		{"auto", "auto", "", local, auth.ByAll, true},
		{"auto", "auto", "", &net.TCPAddr{IP: net.IPv6loopback}, auth.ByAll, true},
		{"auto", "auto", "", &net.TCPAddr{IP: net.ParseIP("::ffff:127.0.0.1")}, auth.ByAll, true},
		{"auto", "auto", "http://localhost:8000", local, auth.ByAll, true},
		{"auto", "auto", "http://127.0.0.1", local, auth.ByAll, true},
		{"auto", "auto", "https://chat.example.com", local, auth.ByEditors, true},
		{"auto", "auto", "", all, auth.ByEditors, false},
		{"auto", "auto", "", &net.TCPAddr{IP: net.IPv6unspecified}, auth.ByEditors, false},
		{"auto", "auto", "", &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, auth.ByEditors, false},
		{"auto", "auto", "", &net.UnixAddr{Name: "x"}, auth.ByEditors, false},
		{"auto", "false", "", local, auth.ByAll, false},
		{"auto", "true", "", all, auth.ByEditors, true},
		{"true", "auto", "", all, auth.ByAll, false},
		{"true", "auto", "https://chat.example.com", local, auth.ByAll, true},
		{"false", "auto", "", local, auth.ByNobody, true},
	} {
		cfg := Config{UploadsEnabled: c.uploads, AuthAnonymous: c.anonymous, PublicURL: c.publicURL}
		if got := cfg.changes(c.addr); got != c.changes {
			t.Errorf("%+v: changes %v", c, got)
		}
		if got := cfg.allowsAnonymous(c.addr); got != c.asks {
			t.Errorf("%+v: anonymous %v", c, got)
		}
	}
}
