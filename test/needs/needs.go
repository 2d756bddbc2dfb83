// Package needs says what tests do on a machine that lacks what they need: they are skipped on a
// developer's, and fail where PARLEY_TEST_ALL=1, as .ci/run sets it.
package needs

import (
	"os"
	"path/filepath"
	"testing"
)

// ParserCache returns the folder in which all tests keep the compiled PDF parser. Compiling it takes 2 s of
// a processor, and 14 s under the race detector.
func ParserCache() string { return filepath.Join(os.TempDir(), "parley-extract-test") }

// All reports whether nothing may be lacking. Tests also do all their rounds then, where they do fewer
// on a developer's machine.
func All() bool { return os.Getenv("PARLEY_TEST_ALL") == "1" }

// Missing ends a test for want of something, such as a program, a folder or a right.
func Missing(t testing.TB, what string) {
	t.Helper()
	if All() {
		t.Fatalf("needs %s", what)
	}
	t.Skipf("needs %s", what)
}
