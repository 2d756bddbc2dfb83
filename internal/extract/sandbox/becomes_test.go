package sandbox

import (
	"strings"
	"testing"

	"parley/internal/extract"
)

// The processes of such a program would not be workers: each would do again what the program does.
func TestPool_StartsNoWorkersForAProgramThatWouldNotBecomeOne(t *testing.T) {
	becomesWorker.Store(false)
	defer becomesWorker.Store(true)
	_, err := newTestPool(t, Options{}).Extract(t.Context(), extract.Request{Name: "a.txt", Path: written(t, "words")})
	if err == nil || !strings.Contains(err.Error(), "RunWorkerIfAsked") {
		t.Errorf("the error is %v", err)
	}
}
