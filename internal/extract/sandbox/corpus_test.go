package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/format"
	"parley/test/needs"
)

// hostile reads the real, odd and hostile files of shared/data/docs-robust, and the files inside
// them, several at once.
type hostile struct {
	pool      *Pool
	spools    string // one folder for all files, as in an ingestion: a worker may write below one only
	taken     atomic.Int64
	passwords map[string]string
	reasons   map[extract.Reason]bool // that docs/ingestion.md explains

	mu      sync.Mutex
	words   map[string][]string       // of testdata/robust.tsv: what must be found, by file
	results map[string]map[string]int // by format, then "indexed", "opened" or a reason
}

// TestPool_TakesEveryHostileFile holds that each file gives a document that keeps its contract and
// has the words that it is known to have, or a reason that is documented.
func TestPool_TakesEveryHostileFile(t *testing.T) {
	root := extracttest.Shared(t, "data/docs-robust")
	o := Options{Ahead: true}
	if needs.Race {
		o.Limits.MemoryBytes = 2 << 30
	}
	h := &hostile{
		pool: newTestPool(t, o), spools: t.TempDir(), passwords: knownPasswords(t, root),
		words: knownWords(t), reasons: documentedReasons(t), results: map[string]map[string]int{},
	}
	// The race detector makes every file many times slower, and parsers start no goroutines.
	sample := testing.Short() || needs.Race
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || sample && len(path)%8 != 0 {
			return err
		}
		files = append(files, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("files", func(t *testing.T) {
		for _, path := range files {
			name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h.take(t, name, path, 0)
			})
		}
	})
	for _, format := range slices.Sorted(maps.Keys(h.results)) {
		t.Logf("%-26s %v", format, h.results[format])
	}
	if !sample {
		for name := range h.words {
			t.Errorf("%s was not indexed, or is not there", name)
		}
	}
}

// knownPasswords are the passwords in the tests of pdf.js, pdfminer and Tika.
func knownPasswords(t *testing.T, root string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pdfjs_passwords.json"))
	if err != nil {
		t.Fatal(err)
	}
	passwords := map[string]string{}
	if err := json.Unmarshal(data, &passwords); err != nil {
		t.Fatal(err)
	}
	maps.Copy(passwords, map[string]string{
		"aes-128.pdf": "foo", "aes-256.pdf": "foo",
		"testWORD_protected_passtika.docx": "tika", "testPPT_protected_passtika.pptx": "tika",
	})
	return passwords
}

// knownWords reads the manifest: a file, a tab, and words that stand in it according to another
// program or to a look at it.
func knownWords(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/robust.tsv")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words[name] = strings.Fields(list)
	}
	return words
}

// documentedReasons are the reasons that the documentation for users explains.
func documentedReasons(t *testing.T) map[extract.Reason]bool {
	t.Helper()
	data, err := os.ReadFile("../../../docs/ingestion.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "| reason | meaning |")
	table, _, _ = strings.Cut(table, "\n\n")
	reasons := map[extract.Reason]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(table, -1) {
		reasons[extract.Reason(m[1])] = true
	}
	return reasons
}

func (h *hostile) take(t *testing.T, name, path string, depth int) {
	t.Helper()
	spool := filepath.Join(h.spools, strconv.FormatInt(h.taken.Add(1), 10))
	request := extract.Request{Name: filepath.Base(name), Path: path, Spool: spool}
	if password, ok := h.passwords[request.Name]; ok {
		request.Passwords = []string{"wrong", password}
	}
	start := time.Now()
	r, err := h.pool.Extract(context.Background(), request)
	if os.Getenv("PARLEY_TEST_NOTES") != "" {
		fmt.Fprintf(os.Stderr, "%s\t%v\t%v\n", name, time.Since(start).Round(time.Millisecond), err)
	}
	var refused *extract.Error
	if errors.As(err, &refused) {
		h.refused(t, name, refused)
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	outcome := "indexed"
	if len(r.Document.Pages) == 0 {
		outcome = "opened"
	}
	h.count(r.Document.Format, outcome)
	extracttest.CheckDocument(t, r.Document)
	if t.Failed() {
		t.Fatalf("the document of %s breaks its contract", name)
	}
	h.find(t, name, r.Document)
	for i, part := range r.Document.Parts {
		inner := name + "/" + part.Name
		switch {
		case part.Refused != nil:
			h.refused(t, inner, part.Refused)
		case depth < 4:
			h.take(t, inner, filepath.Join(spool, extract.PartName(i)), depth+1)
		}
	}
}

func (h *hostile) refused(t *testing.T, name string, why *extract.Error) {
	t.Helper()
	if !h.reasons[why.Reason] || why.Detail == "" || strings.Contains(why.Detail, h.pool.options.CacheDir) || why.Reason == extract.Crashed {
		t.Errorf("%s: %q, which is not documented, or %q", name, why.Reason, why.Detail)
	}
	h.count(cmp.Or(why.Format, format.NameOf(name)), string(why.Reason))
}

func (h *hostile) count(format, outcome string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.results[format] == nil {
		h.results[format] = map[string]int{}
	}
	h.results[format][outcome]++
}

// find looks for the words that a file is known to have.
func (h *hostile) find(t *testing.T, name string, doc *extract.Document) {
	t.Helper()
	var text strings.Builder
	for _, p := range doc.Pages {
		text.WriteString(p.Text + "\n")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, word := range h.words[name] {
		if !strings.Contains(text.String(), word) {
			t.Errorf("%s: %q is not found", name, word)
		}
	}
	delete(h.words, name)
}
