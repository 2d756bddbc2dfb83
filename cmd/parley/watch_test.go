package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/test/needs"
)

// watched is a server that follows a folder.
type watched struct {
	*testing.T
	*process
	docs string
}

func startWatched(t *testing.T, env []string, args ...string) *watched {
	t.Helper()
	dir := t.TempDir()
	w := &watched{T: t, docs: filepath.Join(dir, "docs")}
	if err := os.Mkdir(w.docs, 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("leave.md", "Employees have twenty-five days of leave.")
	w.write("travel.md", "The travel desk books flights and trains.")
	w.process = startServe(t, env, append([]string{"--data", filepath.Join(dir, "data"), "--log-level", "error", w.docs}, args...)...)
	if err := awaitIngested(w.addr); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.docs, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// ask returns the reply to a question.
func (w *watched) ask(question string) string {
	w.Helper()
	status, body, err := call(http.MethodPost, "http://"+w.addr+"/chat",
		`{"messages": [{"role": "user", "content": "`+question+`"}]}`)
	if err != nil || status != http.StatusOK {
		w.Fatalf("%q: status %d, %v: %s", question, status, err, body)
	}
	return body
}

// answersFrom waits until the reply to a question contains a text, or does not.
func (w *watched) answersFrom(question, text string, want bool) {
	w.Helper()
	if err := poll(text, func() bool { return strings.Contains(w.ask(question), text) == want }); err != nil {
		w.Fatalf("the reply to %q holds %q: %t for too long", question, text, !want)
	}
}

func (w *watched) content(name string) int {
	w.Helper()
	status, _, err := call(http.MethodGet, "http://"+w.addr+"/content/"+name, "")
	if err != nil {
		w.Fatal(err)
	}
	return status
}

func TestServeWatch_FollowsWhatComesChangesAndGoes(t *testing.T) {
	t.Parallel()
	w := startWatched(t, nil, "--watch")
	w.write("parking.md", "Parking permits cost nine euros.")
	w.answersFrom("What do parking permits cost?", "parking.md", true)
	w.write("parking.md", "Parking permits cost twelve euros.")
	w.answersFrom("What do parking permits cost?", "nine euros", false)
	w.answersFrom("What do parking permits cost?", "twelve euros", true)

	session := w.session()
	w.answersFrom("How many days of leave do employees have?", "leave.md", true)
	if err := os.Remove(filepath.Join(w.docs, "leave.md")); err != nil {
		t.Fatal(err)
	}
	w.answersFrom("How many days of leave do employees have?", "leave.md", false)
	if status := w.content("leave.md"); status != http.StatusNotFound {
		t.Errorf("the content of a document that is gone has status %d", status)
	}
	if status := w.content("travel.md"); status != http.StatusOK {
		t.Errorf("the content of another document has status %d", status)
	}
	_, history, err := call(http.MethodGet, "http://"+w.addr+"/chat/"+session+"/history", "")
	if err != nil || !strings.Contains(history, "leave.md") {
		t.Errorf("the history has lost what was cited: %v: %s", err, history)
	}
}

// session creates a session with one turn that cites leave.md, and returns its id.
func (w *watched) session() string {
	w.Helper()
	_, body, err := call(http.MethodPost, "http://"+w.addr+"/chat/session", "{}")
	if err != nil {
		w.Fatal(err)
	}
	_, id, _ := strings.Cut(body, `"session_id":"`)
	id, _, ok := strings.Cut(id, `"`)
	if !ok {
		w.Fatalf("there is no session_id in %s", body)
	}
	status, body, err := call(http.MethodPost, "http://"+w.addr+"/chat/"+id,
		`{"message": "How many days of leave do employees have?", "stream": false}`)
	if err != nil || status != http.StatusOK || !strings.Contains(body, "leave.md") {
		w.Fatalf("status %d, %v: %s", status, err, body)
	}
	return id
}

func TestServeWatch_FollowsWhatOtherCommandsIngestIntoOtherNamespaces(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	w := startWatched(t, nil, "--watch")
	pay := filepath.Join(t.TempDir(), "pay.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(pay, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Salaries are paid monthly.")
	parley(t, "ingest", "--namespace", "hr", "--data", filepath.Join(filepath.Dir(w.docs), "data"), pay)
	write("Salaries are paid weekly.")
	err := poll("the change", func() bool {
		_, body, err := call(http.MethodPost, "http://"+w.addr+"/search", `{"query": "salaries", "namespace": "hr"}`)
		return err == nil && strings.Contains(body, "weekly")
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServeWatch_TheSettingDoesTheSame(t *testing.T) {
	t.Parallel()
	w := startWatched(t, []string{"PARLEY_INGEST_WATCH=true"})
	w.write("parking.md", "Parking permits cost nine euros.")
	w.answersFrom("What do parking permits cost?", "parking.md", true)
}

func TestServe_WithoutWatchNothingIsFollowed(t *testing.T) {
	t.Parallel()
	w := startWatched(t, nil)
	w.write("parking.md", "Parking permits cost nine euros.")
	time.Sleep(time.Second)
	if got := w.ask("What do parking permits cost?"); strings.Contains(got, "parking.md") {
		t.Error("a file was followed although nobody asked for that")
	}
}
