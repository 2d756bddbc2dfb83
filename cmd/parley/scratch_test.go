package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of a question is on the disk only while it is read, and what a killed server left of one is removed at the next
// start.
func TestServe_LeavesNoFilesOfQuestions(t *testing.T) {
	t.Parallel()
	data, temp := t.TempDir(), t.TempDir()
	scratch := filepath.Join(data, "parley-scratch")
	left := filepath.Join(scratch, "parley-given-1")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, []string{"TMPDIR=" + temp}, "--data", data)
	waitServing(t, p.addr)
	file := base64.StdEncoding.EncodeToString([]byte("The mast of Hoog is 12 metres tall."))
	body := fmt.Sprintf(`{"model":"parley","input":[{"role":"user","content":[{"type":"input_text","text":"How tall is the mast?"},
		{"type":"input_file","filename":"mast.txt","file_data":%q}]}]}`, file)
	res, err := http.Post("http://"+p.addr+"/v1/responses", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(answer), "12 metres") {
		t.Errorf("%d %s, %v", res.StatusCode, answer, err)
	}
	for _, dir := range []string{scratch, temp} {
		for _, name := range entries(t, dir) {
			if strings.HasPrefix(name, "parley-given-") {
				t.Errorf("%s is left in %s", name, dir)
			}
		}
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
