//go:build !unix

package accesstest

import "testing"

// RanAsNobody skips the test: there is no user here whom the permissions of files bind.
func RanAsNobody(t *testing.T) bool {
	t.Helper()
	t.Skip("needs a user whom permissions bind")
	return true
}
