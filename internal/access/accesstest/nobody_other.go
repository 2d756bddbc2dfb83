//go:build !unix

package accesstest

import "testing"

// RanAsNobody skips the test: it cannot be run as an unprivileged user on this system.
func RanAsNobody(t *testing.T) bool {
	t.Helper()
	t.Skip("needs a user whom permissions bind")
	return true
}
