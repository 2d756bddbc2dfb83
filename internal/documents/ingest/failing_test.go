package ingest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

func TestRun_DoesNotTryAPoisonousFileAgainUntilItChanges(t *testing.T) {
	for _, reason := range []extract.Reason{extract.Timeout, extract.Crashed, extract.TooLarge, extract.Damaged, extract.Encrypted} {
		t.Run(string(reason), func(t *testing.T) {
			b := newBench(t)
			b.write("a.md", "Alpha.")
			b.extractor.before = func(context.Context, string) error {
				return &extract.Error{Reason: reason, Detail: "as asked"}
			}
			r := b.run()
			if n := len(r.Failed) + len(r.Skipped); n != 1 {
				t.Fatalf("%+v", r)
			}
			b.extractor.take()
			for range 3 {
				r = b.run()
				for _, f := range append(r.Failed, r.Skipped...) {
					if !f.Known || f.Reason != reason || f.Detail != "as asked" {
						t.Errorf("%+v", f)
					}
				}
			}
			b.write("a.md", "Alpha.") // touched only
			b.run()
			if read := b.extractor.take(); len(read) > 0 {
				t.Errorf("tried again: %q", read)
			}
			b.extractor.before = nil
			b.write("a.md", "Another.")
			b.want(b.run(), counts{Indexed: 1})
		})
	}
}

func TestRun_TriesAPoisonousFileOnceWithANewGeneration(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "DAMAGED")
	b.run()
	for key, f := range b.corpus.files {
		f.Generation = "old"
		b.corpus.files[key] = f
	}
	b.extractor.take()
	b.want(b.run(), counts{Failed: 1})
	b.want(b.run(), counts{Failed: 1})
	if read := b.extractor.take(); len(read) != 1 {
		t.Errorf("read %q, want it once", read)
	}
}

func TestRun_TriesAFileAgainForWhichTheMachineHadNoTime(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	b.write("a.md", "BUSY")
	b.want(b.run(), counts{Failed: 1})
	r := b.run()
	b.want(r, counts{Failed: 1})
	if r.Failed[0].Known {
		t.Error("the report says that the file was not tried again")
	}
	if d := b.corpus.doc(t, "a.md"); d.Chunks[0].Text != "Alpha." {
		t.Errorf("the document that was there is %q", d.Chunks[0].Text)
	}
	b.write("a.md", "Beta.")
	b.want(b.run(), counts{Updated: 1})
}

func TestTimeLeft_IsToldOnceEnoughIsBehind(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		took, since time.Duration
		done, total int64
		want        time.Duration
	}{
		{time.Second, 0, 0, 100 * mb, 0},
		{time.Second, 0, 4 * mb, 100 * mb, 0},
		{time.Second, 0, 5 * mb, 100 * mb, 19 * time.Second},
		{4 * time.Second, 0, mb, 101 * mb, 400 * time.Second},
		{4 * time.Second, 100 * time.Second, mb, 101 * mb, 300 * time.Second},
		{2 * time.Second, time.Hour, 20 * mb, 21 * mb, 0}, // one file takes longer than all others: nothing tells when it ends
		{time.Minute, 0, 0, mb, 0},
		{time.Minute, 0, mb, mb, 0},
	} {
		if got := timeLeft(c.took, c.since, c.done, c.total); got != c.want {
			t.Errorf("%v for %d of %d bytes, %v ago: %v, want %v", c.took, c.done, c.total, c.since, got, c.want)
		}
	}
}

func TestRun_EndsWhenTheCorpusOrTheBlobsFail(t *testing.T) {
	full := errors.New("disk full")
	for name, fail := range map[string]func(*bench){
		"corpus": func(b *bench) {
			b.corpus.onApply = func(batch retrieval.Batch) error {
				if len(batch.Put) > 0 {
					return full
				}
				return nil
			}
		},
		"blobs":     func(b *bench) { b.blobs.put = func() error { return full } },
		"extractor": func(b *bench) { b.extractor.before = func(context.Context, string) error { return full } },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for i := range 100 {
				b.write(fmt.Sprintf("%d.md", i), "Text.")
			}
			fail(b)
			if _, err := b.try(context.Background()); !errors.Is(err, full) {
				t.Errorf("error %v", err)
			}
			if len(b.corpus.docs) != 0 {
				t.Errorf("%d documents", len(b.corpus.docs))
			}
		})
	}
}
