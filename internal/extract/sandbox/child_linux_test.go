package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/extract"
)

func TestPool_WorkersGiveWayWithAllTheirThreads(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	r, err := pool.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "your process")})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob("/proc/" + string(r.Post) + "/task/*/stat")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("the worker has the threads %v (%v)", tasks, err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		// What is behind the name in parentheses begins with field 3; niceness is 19 (proc(5)).
		_, behind, _ := strings.Cut(string(stat), ") ")
		if nice := strings.Fields(behind)[16]; nice != "10" {
			t.Errorf("thread %s has niceness %s, want 10", filepath.Base(filepath.Dir(task)), nice)
		}
	}
}
