//go:build !unix

package accesstest

import "testing"

// RanAsNobody skips the test: this system has no user that is bound by file permissions.
func RanAsNobody(t *testing.T) bool {
	t.Helper()
	t.Skip("needs a user whom permissions bind")
	return true
}
