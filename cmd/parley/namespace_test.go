package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/store"
	"parley/test/needs"
)

// askIn returns the reply to a question in a namespace.
func (w *watched) askIn(namespace, question string) string {
	w.Helper()
	status, body, err := call(http.MethodPost, "http://"+w.addr+"/chat",
		`{"message": "`+question+`", "params": {"namespace": "`+namespace+`", "stream": false}}`)
	if err != nil || status != http.StatusOK {
		w.Fatalf("%q in %s: status %d, %v: %s", question, namespace, status, err, body)
	}
	return body
}

// search returns the reply of POST /search in a namespace.
func (w *watched) search(namespace, text string) string {
	w.Helper()
	status, body, err := call(http.MethodPost, "http://"+w.addr+"/search", `{"query": "`+text+`", "namespace": "`+namespace+`"}`)
	if err != nil || status != http.StatusOK {
		w.Fatalf("search in %s: status %d, %v: %s", namespace, status, err, body)
	}
	return body
}

// foundIn waits until a question leads to a document in exactly one of the namespaces, through
// every route.
func (w *watched) foundIn(want, question, document string) {
	w.Helper()
	for _, namespace := range []string{"default", "hr", "legal"} {
		found := namespace == want
		err := poll(document, func() bool { return strings.Contains(w.askIn(namespace, question), document) == found })
		if err != nil {
			w.Fatalf("%s is found in %s: %t for too long", document, namespace, !found)
		}
		status := http.StatusNotFound
		if found {
			status = http.StatusOK
		}
		if got := w.content(document + "?namespace=" + namespace); got != status {
			w.Errorf("the content of %s in %s has status %d, want %d", document, namespace, got, status)
		}
		_, list, err := call(http.MethodGet, "http://"+w.addr+"/api/documents?namespace="+namespace, "")
		if err != nil || strings.Contains(list, document) != found {
			w.Errorf("%s is listed in %s: %t (%v)", document, namespace, !found, err)
		}
	}
}

func TestServeWatch_DocumentsGoIntoTheNamespaceThatTheirFolderNames(t *testing.T) {
	t.Parallel()
	w := startWatched(t, nil, "--watch")
	const question = "What do parking permits cost?"
	w.write("parking.md", "Parking permits cost nine euros.")
	w.foundIn("default", question, "parking.md")
	for _, namespace := range []string{"hr", "legal"} {
		w.write("parley.yaml", "namespace: "+namespace+"\n")
		w.foundIn(namespace, question, "parking.md")
	}
	for _, reply := range []string{
		w.askIn("legal", question), w.search("legal", "parking permits"),
	} {
		if !strings.Contains(reply, "/content/parking.md?namespace=legal") {
			t.Errorf("the source's URL does not lead into its namespace: %s", reply)
		}
	}
	w.write("parking.md.parley.yaml", "namespace: hr\n")
	w.foundIn("hr", question, "parking.md")
	w.write("parking.md", "---\nnamespace: default\n---\nParking permits cost nine euros.")
	w.foundIn("hr", question, "parking.md") // the sidecar file takes precedence
	if err := os.Remove(filepath.Join(w.docs, "parking.md.parley.yaml")); err != nil {
		t.Fatal(err)
	}
	w.foundIn("default", question, "parking.md")
	if err := os.Remove(filepath.Join(w.docs, "parley.yaml")); err != nil {
		t.Fatal(err)
	}
	w.foundIn("default", "How many days of leave do employees have?", "leave.md")
	if err := os.Remove(filepath.Join(w.docs, "parking.md")); err != nil {
		t.Fatal(err)
	}
	w.foundIn("none", question, "parking.md")
}

// parleyCode runs a command of the binary that may fail, and returns its standard output and code.
func parleyCode(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestIngest_FilesNameOnlyTheNamespacesThatTheyMay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, docs := filepath.Join(dir, "data"), filepath.Join(dir, "docs")
	for name, text := range map[string]string{
		"a.md": "---\nnamespace: team-a\n---\nThe alpha room is green.", "b.md": "---\nnamespace: board\n---\nThe beta room is red.",
	} {
		if err := os.MkdirAll(docs, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, code := parleyCode(t, "ingest", "--data", data, "--ingest-namespaces", "team-*", docs)
	for _, want := range []string{"1 document in team-a", `b.md (metadata): it names the namespace "board"`} {
		if !strings.Contains(got, want) {
			t.Errorf("ingestion does not say %q: %s", want, got)
		}
	}
	if code != 3 {
		t.Errorf("it ended with code %d", code)
	}
	if got := parley(t, "ask", "--data", data, "--namespace", "team-a", "Which colour has the alpha room?"); !strings.Contains(got, "green") {
		t.Errorf("the answer is %s", got)
	}
	if got, _ := parleyCode(t, "ask", "--data", data, "--namespace", "board", "Which colour has the beta room?"); strings.Contains(got, "red") {
		t.Errorf("the answer is %s", got)
	}
}

// The record of the file belongs to the namespace of the ingestion, the document to its own.
func TestServe_ADocumentInAnotherNamespaceIsReadAnewAndDeleted(t *testing.T) {
	t.Parallel()
	w := startWatched(t, nil, "--watch")
	w.write("parking.md", "---\nnamespace: hr\n---\nParking permits cost nine euros.")
	w.foundIn("hr", "What do parking permits cost?", "parking.md")
	_, list, err := call(http.MethodGet, "http://"+w.addr+"/api/documents?namespace=hr", "")
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	document := "http://" + w.addr + "/api/documents/" + id
	if status, _, _ := call(http.MethodPost, document+"/reindex", ""); status != http.StatusNotFound {
		t.Errorf("in the server's namespace it is read anew with status %d", status)
	}
	_, body, err := call(http.MethodPost, document+"/reindex?namespace=hr", "")
	if err != nil {
		t.Fatal(err)
	}
	_, job, _ := strings.Cut(body, `"job_id":"`)
	job, _, _ = strings.Cut(job, `"`)
	if err := poll("the job", func() bool { return jobAt(t, w.addr, job).State == "done" }); err != nil {
		t.Errorf("the job is %+v", jobAt(t, w.addr, job))
	}
	if status, body, _ := call(http.MethodDelete, document+"?namespace=hr", ""); status != http.StatusOK {
		t.Errorf("it is deleted with status %d: %s", status, body)
	}
	w.foundIn("none", "What do parking permits cost?", "parking.md")
	w.write("parking.md", "---\nnamespace: legal\n---\nParking permits cost nine euros.")
	w.foundIn("legal", "What do parking permits cost?", "parking.md")
}

// The namespace of an upload comes from the request, not from the file.
func TestServe_AnUploadStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	w := startWatched(t, nil)
	id := uploadTo(t, w.addr, map[string]string{
		"out.md": "---\nnamespace: hr\n---\nSecret plans say parking is free.", "in.md": "---\nnamespace: default\n---\nThe kiosk sells soup.",
	})
	if err := poll("the job", func() bool { j := jobAt(t, w.addr, id); return j.State != "queued" && j.State != "running" }); err != nil {
		t.Fatal(err)
	}
	j := jobAt(t, w.addr, id)
	if j.State != "partial" || j.Indexed != 1 || j.Failed != 1 {
		t.Errorf("the job is %+v", j)
	}
	for _, f := range j.Files {
		if f.Name == "out.md" && f.Reason != "metadata" {
			t.Errorf("the file is %+v", f)
		}
	}
	w.foundIn("default", "What does the kiosk sell?", "in.md")
	w.foundIn("none", "Is parking free?", "out.md")
}

// If an ingestion is killed while documents move between namespaces, each document is in one
// namespace, and the next ingestion finishes the move.
func TestIngest_KilledWhileDocumentsMoveLosesNone(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	dir := t.TempDir()
	data, docs := filepath.Join(dir, "data"), filepath.Join(dir, "docs")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	const documents = 200
	for i := range documents {
		write(fmt.Sprintf("locker-%d.md", i), fmt.Sprintf("Locker number w%dx belongs to the person in room %d.", i, i*7))
	}
	counts := func() map[string]int {
		t.Helper()
		db, err := store.Open(t.Context(), data, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		n := map[string]int{}
		for _, namespace := range []string{"default", "one", "two"} {
			all, err := db.Corpus().AllDocuments(t.Context(), namespace, "", documents+1)
			if err != nil {
				t.Fatal(err)
			}
			n[namespace] = len(all)
		}
		return n
	}
	parley(t, "ingest", "--data", data, docs)
	last := ""
	for i, after := range []int{100, 200, 300, 400} {
		last = []string{"one", "two"}[i%2]
		write("parley.yaml", "namespace: "+last+"\n")
		cmd := exec.Command(binary(t), "ingest", "--data", data, docs)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(after) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if n := counts(); n["default"]+n["one"]+n["two"] != documents {
			t.Fatalf("there are %v documents", n)
		}
	}
	parley(t, "ingest", "--data", data, docs)
	if n := counts(); n[last] != documents || n["default"]+n["one"]+n["two"] != documents {
		t.Errorf("there are %v documents, all should be in %s", n, last)
	}
	if got := parley(t, "ask", "--data", data, "--namespace", last, "Who has locker w77x?"); !strings.Contains(got, "room 539") {
		t.Errorf("the answer is %s", got)
	}
}
