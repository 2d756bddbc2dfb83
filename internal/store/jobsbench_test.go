package store

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"parley/internal/documents/job"
)

// BenchmarkJobs_Unfinished is the query of the job runner, every two seconds, with 200 jobs of
// 2,000 files each.
func BenchmarkJobs_Unfinished(b *testing.B) {
	db, err := Open(b.Context(), b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	files := make([]job.File, 2000)
	for i := range files {
		files[i] = job.File{Name: fmt.Sprintf("https://example.com/page-%d.html", i), State: job.FileQueued}
	}
	for i := range 200 {
		j := job.Job{ID: fmt.Sprintf("job %d", i), Kind: "index", Namespace: "default", State: job.Queued, Files: files, QueuedAt: time.Unix(int64(i), 0)}
		if err := db.Jobs().Add(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if all, err := db.Jobs().Unfinished(b.Context()); err != nil || len(all) != 200 {
			b.Fatal(len(all), err)
		}
	}
}
