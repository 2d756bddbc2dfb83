package extract

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPool_TakesEveryHostileFile reads real, odd and hostile files: each must give a document
// that keeps its contract, or a reason.
func TestPool_TakesEveryHostileFile(t *testing.T) {
	root := shared(t, "data/docs-robust")
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		files = slices.DeleteFunc(files, func(path string) bool { return len(path)%8 != 0 })
	}
	p := newTestPool(t, Options{})
	results := map[string]map[string]int{} // by extension, then reason
	notes := os.Getenv("PARLEY_TEST_NOTES") != ""
	for _, path := range files {
		start := time.Now()
		r, err := p.Extract(context.Background(), Request{Name: filepath.Base(path), Path: path})
		outcome := "document"
		var refused *Error
		switch {
		case errors.As(err, &refused):
			outcome = string(refused.Reason)
			if refused.Detail == "" || strings.Contains(refused.Detail, root) {
				t.Errorf("%s: detail %q", path, refused.Detail)
			}
		case err != nil:
			t.Errorf("%s: %v", path, err)
			continue
		default:
			checkDocument(t, r.Document)
			if t.Failed() {
				t.Fatalf("the document of %s breaks its contract", path)
			}
		}
		if notes {
			fmt.Fprintf(os.Stderr, "%s\t%s\t%v\t%v\n", outcome, path, time.Since(start).Round(time.Millisecond), err)
		}
		ext := strings.ToLower(filepath.Ext(path))
		if results[ext] == nil {
			results[ext] = map[string]int{}
		}
		results[ext][outcome]++
	}
	for _, ext := range slices.Sorted(maps.Keys(results)) {
		t.Logf("%-6s %v", ext, results[ext])
	}
}
