package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/test/needs"
)

// smallDisk mounts a file system of size bytes. It needs the permission to mount.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		needs.Missing(t, fmt.Sprintf("the right to mount a file system: %v", err))
	}
	t.Cleanup(func() { // runs after the program that the test starts later has ended
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until the disk has the given number of bytes left.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 64<<10); len(chunk) > 0; {
		if _, err := f.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		err = f.Truncate(max(end-left, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// On a full disk every protocol reports it in its own shape, stored data stays readable, and after
// space is freed everything works without a restart.
func TestServe_AFullDiskIsSaidAndOutlived(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 24<<20)
	s := startRAGChatOn(t, filepath.Join(disk, "data"), "--model", "openai:gpt-4o-mini", "--uploads-enabled", "true")
	session := s.session(t)
	_, made := s.post(t, "/chat-history", `{}`)
	var chat struct{ ID string }
	if err := json.Unmarshal([]byte(made), &chat); err != nil || chat.ID == "" {
		t.Fatalf("%v: %s", err, made)
	}
	const azure = `{"messages":[{"role":"user","content":"How high is Mount Everest?"}]}`
	writes := []struct {
		name, method, path, body string
		failed                   int
		shape                    string // present in the error
	}{
		{"azure-0529", "POST", "/chat", azure, 500, `{"error":"The app encountered an error`},
		{"azure-0128", "POST", "/chat", strings.TrimSuffix(azure, "}") + `,"stream":false}`, 500, `{"error":"The app encountered an error`},
		{"SDK", "POST", "/api/chat/", azure, 500, `{"error":{"code":"insufficient_storage","message":"`},
		{"OpenAI", "POST", "/v1/chat/completions", strings.TrimSuffix(azure, "}") + `,"model":"parley"}`, 507, `{"error":{"message":"There is no room left on`},
		{"Responses", "POST", "/v1/responses", `{"model":"parley","input":"How high is Mount Everest?"}`, 507, `"code":"insufficient_storage"`},
		{"new conversation", "POST", "/v1/conversations", `{"items":[{"role":"user","content":"` + strings.Repeat("x", 9000) + `"}]}`, 507, `"code":"insufficient_storage"`},
		{"Chat UI", "POST", "/api/chat", azure, 507, `"code":"INSUFFICIENT_STORAGE"`},
		{"team", "POST", "/api/multi-agent-chat", azure, 507, `"code":"INSUFFICIENT_STORAGE"`},
		{"Chat-with-RAG", "POST", "/chat", `{"message":"How high is Mount Everest?"}`, 507, `"code":"insufficient_storage"`},
		{"session", "POST", "/chat/" + session, `{"message":"How high is Mount Everest?"}`, 507, `"code":"insufficient_storage"`},
		{"new session", "POST", "/chat/session", ``, 507, `"code":"insufficient_storage"`},
		{"new chat", "POST", "/chat-history", `{}`, 507, `"code":"INSUFFICIENT_STORAGE"`},
		{"chat", "PUT", "/chat-history/" + chat.ID, `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 9000) + `"}]}`, 507, `"code":"INSUFFICIENT_STORAGE"`},
		{"job", "POST", "/index", `{"urls":["http://127.0.0.1:1/"]}`, 507, `"code":"insufficient_storage"`},
	}
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		status, text, err := call(method, "http://"+s.addr+path, body)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		return status, text
	}
	answered := 0
	turn := func() int {
		status, text := ask("POST", "/chat/"+session, `{"message":"How high is Mount Everest?"}`)
		if status == http.StatusOK {
			answered++
		} else if status != http.StatusInsufficientStorage && status != http.StatusServiceUnavailable {
			t.Errorf("a turn ended with %d: %.300s", status, text)
		}
		return status
	}
	turn()

	filler := filepath.Join(disk, "filler")
	fill(t, filler, 0)
	for turn() == http.StatusOK && answered < 1000 { // until the log is full
	}
	for _, w := range writes {
		if status, text := ask(w.method, w.path, w.body); status != w.failed || !strings.Contains(text, w.shape) {
			t.Errorf("%s on a full disk: status %d, want %d with %s: %.400s", w.name, status, w.failed, w.shape, text)
		}
	}
	for path, body := range map[string]string{
		"/chat/" + session + "/history": "", "/chat-history": "", "/content/peaks.md": "", "/readyz": "", "/api/usage": "",
		"/search": `{"query":"Everest"}`,
	} {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		if status, text := ask(method, path, body); status != http.StatusOK {
			t.Errorf("%s on a full disk: status %d: %.300s", path, status, text)
		}
	}
	for left := int64(4 << 10); left <= 256<<10; left *= 2 { // varies which write fails first
		fill(t, filler, left)
		for range 3 {
			turn()
		}
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		want := http.StatusOK
		if w.name == "job" {
			want = http.StatusUnprocessableEntity // nobody listens there
		}
		if w.name == "session" {
			answered++
		}
		if status, text := ask(w.method, w.path, w.body); status != want {
			t.Errorf("%s with room again: status %d: %.400s", w.name, status, text)
		}
	}
	if all := s.history(t, session); len(all) != 2*answered {
		t.Errorf("the session has %d messages after %d answered turns", len(all), answered)
	}
}
