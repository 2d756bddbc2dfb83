package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// tester is a test with checks that the suites share.
type tester struct{ *testing.T }

func (t tester) equal(what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (t tester) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
