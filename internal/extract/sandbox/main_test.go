package sandbox

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	RunWorkerIfAsked(testPost)
	goleak.VerifyTestMain(m)
}
