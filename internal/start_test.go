package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var compiledAtStart = regexp.MustCompile(`(?m)^(?:var )?\t?\w+ += regexp\.MustCompile\(`)

// The server and each child process that reads files would wait for them.
func TestPackages_CompileNoRegularExpressionWhenTheProgramStarts(t *testing.T) {
	for _, dir := range []string{".", "../cmd"} {
		for file := range allImports(t, dir) {
			source, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if found := compiledAtStart.Find(source); found != nil {
				t.Errorf("%s: %s: use lazyregexp.New for the variables of a package", file, found)
			}
		}
	}
}
