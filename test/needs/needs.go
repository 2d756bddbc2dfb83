// Package needs decides what a test does if the machine lacks a component: it is skipped, or fails
// with PARLEY_TEST_ALL=1, which .ci/run sets.
package needs

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// ParserCache returns the folder in which all tests cache the compiled PDF parser. Compiling it
// takes 2 s of processor time, 14 s with the race detector.
func ParserCache() string { return filepath.Join(os.TempDir(), "parley-extract-test") }

// All reports whether every component is required. Tests also do more rounds then.
func All() bool { return os.Getenv("PARLEY_TEST_ALL") == "1" }

// Long skips a test that takes some seconds, unless PARLEY_TEST_ALL=1 is set or -run chooses the tests.
func Long(t testing.TB) {
	t.Helper()
	if Quick() {
		t.Skip("takes some seconds: PARLEY_TEST_ALL=1 or -run with its name runs it, as .ci/run does")
	}
}

// Quick reports whether tests should be quick: PARLEY_TEST_ALL=1 is not set, and -run does not choose the tests.
func Quick() bool {
	run := flag.Lookup("test.run")
	return !All() && (run == nil || run.Value.String() == "")
}

// Missing skips or fails a test because a program, a folder or a right is missing.
func Missing(t testing.TB, what string) {
	t.Helper()
	if All() {
		t.Fatalf("needs %s", what)
	}
	t.Skipf("needs %s", what)
}
