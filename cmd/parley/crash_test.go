package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"parley/test/needs"
)

// writeCorpus makes n small documents, each with a distinct fact.
func writeCorpus(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("# Station %d\n\nThe keeper of station%04d is called Keeper%04d.\n\n%s", i, i, i,
			strings.Repeat("The station is open all year and lies on the coast, where the wind is strong. ", 40))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("station-%04d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func documentsAt(t *testing.T, addr string) (documents int, running bool) {
	t.Helper()
	_, body, err := call(http.MethodGet, "http://"+addr+"/readyz", "")
	if err != nil {
		return 0, true
	}
	var state struct {
		Ingestion struct {
			Running   bool
			Documents int
		}
	}
	if err := json.Unmarshal([]byte(body), &state); err != nil {
		t.Fatalf("read %q: %v", body, err)
	}
	return state.Ingestion.Documents, state.Ingestion.Running
}

func TestServe_KilledWhileIngestingItOpensAndAnswersAndGoesOn(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	const files, rounds = 400, 5
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeCorpus(t, docs, files)
	stored := 0
	for round := range rounds {
		p := startServe(t, nil, docs, "--data", data)
		goal := stored + files/rounds/2
		err := poll("more documents", func() bool {
			n, running := documentsAt(t, p.addr)
			return n >= goal || n > 0 && !running
		})
		if err != nil {
			t.Fatal(err)
		}
		p.signal(t, syscall.SIGKILL)

		// The stored documents are whole: each can be found and cited.
		out := parley(t, "ask", "--json", "Who is the keeper of station0000?", "--data", data)
		if !strings.Contains(out, "Keeper0000") || !strings.Contains(out, `"label": "station-0000.md"`) {
			t.Fatalf("round %d: the first document is not found: %s", round, out)
		}
		idle := startServe(t, nil, "--data", data)
		if err := awaitReady(idle.addr); err != nil {
			t.Fatal(err)
		}
		n, _ := documentsAt(t, idle.addr)
		if n < stored {
			t.Fatalf("round %d: %d documents after the crash, %d before", round, n, stored)
		}
		stored = n
		t.Logf("round %d: killed after %d of %d documents", round, stored, files)
		idle.signal(t, syscall.SIGKILL)
	}
	out := parley(t, "ingest", docs, "--data", data)
	if want := fmt.Sprintf("Indexed %d document", files-stored); !strings.Contains(out, want) {
		t.Errorf("the last ingestion says %q, want %q", out, want)
	}
	for _, i := range []int{0, files / 2, files - 1} {
		fact := fmt.Sprintf("Keeper%04d", i)
		out := parley(t, "ask", fmt.Sprintf("Who is the keeper of station%04d?", i), "--data", data)
		if !strings.Contains(out, fact) {
			t.Errorf("document %d is not found: %s", i, out)
		}
	}
}

func TestServe_SIGTERMDuringIngestionEndsItInOrder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no SIGTERM")
	}
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeCorpus(t, docs, 400)
	p := startServe(t, nil, docs, "--data", data)
	if err := poll("a document", func() bool { n, _ := documentsAt(t, p.addr); return n > 0 }); err != nil {
		t.Fatal(err)
	}
	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if log := p.stderr.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Errorf("it complained: %s", log)
	}
}
