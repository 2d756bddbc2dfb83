package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

func TestRun_IndexesAFolder(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.txt", "Beta.")
	b.write("empty.txt", " ")
	b.write("bad.pdf", "DAMAGED")
	for _, p := range []string{".git/x.md", ".hidden.md", "node_modules/x.md", "~$a.docx", "parley-data/x.md"} {
		b.write(p, "Never.")
	}
	r := b.run()
	b.want(r, counts{Indexed: 2, Skipped: 1, Failed: 1})
	b.wantNames("a.md", "sub/b.txt")
	wantFailed := []FileResult{{Path: filepath.Join(b.dir, "bad.pdf"), Reason: extract.Damaged, Detail: "the file is damaged"}}
	if diff := cmp.Diff(wantFailed, r.Failed); diff != "" {
		t.Error(diff)
	}
	if want := []retrieval.Root{{Path: b.dir}}; !slices.Equal(b.corpus.roots, want) {
		t.Errorf("roots %+v, want %+v", b.corpus.roots, want)
	}

	d := b.corpus.doc(t, "sub/b.txt")
	d.Document.ID, d.Document.IndexedAt = "", time.Time{}
	want := retrieval.Put{
		Document: retrieval.Document{
			Namespace: "default", Name: "sub/b.txt", Title: "b", MediaType: "text/plain", Size: 5, Chunks: 1,
			Generation: generation,
		},
		Pages:  []retrieval.Page{{Text: "Beta."}},
		Chunks: []retrieval.Chunk{{Text: "Beta.", Spans: []retrieval.Span{{End: 5}}, Tokens: countTokens("Beta.")}},
	}
	want.Document.SHA256 = d.Document.SHA256
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	f, err := b.blobs.Open(d.Document.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, _ := io.ReadAll(f); string(data) != "Beta." {
		t.Errorf("the original is %q", data)
	}
}

func TestRun_ReadsNothingWhenNothingChanged(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("bad.pdf", "DAMAGED")
	b.write("private.md", "Secret.")
	b.write("private.md.parley.yaml", "users: [ann]")
	b.run()
	b.extractor.take()
	batches := b.corpus.batches
	r := b.run()
	b.want(r, counts{Unchanged: 2, Failed: 1})
	if !r.Failed[0].Known {
		t.Error("the failed file is not said to be known")
	}
	if read := b.extractor.take(); len(read) > 0 || b.corpus.batches != batches {
		t.Errorf("read %q, and applied %d batches", read, b.corpus.batches-batches)
	}
}

func TestRun_ReplacesAChangedDocumentAndKeepsItsID(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	id := b.corpus.doc(t, "a.md").Document.ID
	b.write("a.md", "Another.")
	b.want(b.run(), counts{Updated: 1})
	d := b.corpus.doc(t, "a.md")
	if d.Document.ID != id || d.Chunks[0].Text != "Another." || len(b.corpus.docs) != 1 {
		t.Errorf("got %+v, the id was %s", d, id)
	}
}

func TestRun_DoesNotIndexAFileThatWasOnlyTouched(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	b.extractor.take()
	b.write("a.md", "Alpha.")
	b.want(b.run(), counts{Unchanged: 1})
	if read := b.extractor.take(); len(read) > 0 {
		t.Errorf("extracted %q", read)
	}
	batches := b.corpus.batches
	b.want(b.run(), counts{Unchanged: 1})
	if b.corpus.batches != batches {
		t.Error("the new time was not recorded")
	}
}

func TestRun_ReadsAgainWhatAnotherGenerationMade(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	for key, f := range b.corpus.files {
		f.Generation = "old"
		b.corpus.files[key] = f
	}
	b.want(b.run(), counts{Updated: 1})
}

func TestRun_ReadsAgainWhatWasCutIntoOtherChunks(t *testing.T) {
	b := newBench(t)
	b.write("a.md", strings.Repeat("The moon has no air, and the sea is far away. ", 100)) // cut in a worker
	b.write("b.md", strings.Repeat("The moon has no air, and the sea is far away. ", 100)+"Odd.")
	b.run()
	cut := func() (chunks int) {
		for _, put := range b.corpus.docs {
			chunks += len(put.Chunks)
		}
		return chunks
	}
	before := cut()
	for _, c := range []struct {
		options SplitOptions
		want    counts
		more    bool
	}{
		{SplitOptions{Size: 1000, Overlap: 100}, counts{Unchanged: 2}, false}, // the defaults
		{SplitOptions{Size: 300, Overlap: 100}, counts{Updated: 2}, true},
		{SplitOptions{Size: 300, Overlap: -1}, counts{Updated: 2}, true},
		{SplitOptions{Size: 300, Overlap: -1}, counts{Unchanged: 2}, true},
		{SplitOptions{}, counts{Updated: 2}, false},
	} {
		b.cfg.Split = c.options
		b.want(b.run(), c.want)
		if more := cut() > 2*before; more != c.more {
			t.Errorf("%+v: %d chunks, %d with the defaults", c.options, cut(), before)
		}
	}
}

func TestRun_DeletesWhatIsGone(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.md", "Beta.")
	b.write("bad.pdf", "DAMAGED")
	b.run()
	b.remove("sub")
	b.remove("bad.pdf")
	b.want(b.run(), counts{Unchanged: 1, Deleted: 1})
	b.wantNames("a.md")
	if len(b.corpus.files) != 1 {
		t.Errorf("rows %v", b.corpus.files)
	}
}

func TestRun_DeletesADocumentWhoseFileNoLongerGivesOne(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	b.write("a.md", "DAMAGED")
	b.want(b.run(), counts{Deleted: 1, Failed: 1})
	b.wantNames()
	b.write("a.md", "Whole again.")
	b.want(b.run(), counts{Indexed: 1})
}

func TestRun_SkipsWhatIsUnsupportedOrTooLargeWithoutReadingIt(t *testing.T) {
	b := newBench(t)
	b.cfg.MaxBytes = 10
	b.cfg.Supports = func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".png") }
	b.blobs.put = func() error { t.Error("the file was read"); return nil }
	b.write("a.png", "Pixels.")
	b.write("long.md", "More than ten bytes.")
	r := b.run()
	b.want(r, counts{Skipped: 2})
	if r.Skipped[0].Reason != extract.Unsupported || r.Skipped[1].Reason != extract.TooLarge {
		t.Errorf("%+v", r.Skipped)
	}
}

func TestRun_ExtractsTheOriginalItKeptWhenTheFileChangesMeanwhile(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "First.")
	b.extractor.before = func(context.Context, string) error {
		b.write("a.md", "Second, and longer.")
		return nil
	}
	b.want(b.run(), counts{Indexed: 1})
	d := b.corpus.doc(t, "a.md")
	f, err := b.blobs.Open(d.Document.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, _ := io.ReadAll(f); string(data) != d.Pages[0].Text {
		t.Errorf("original %q, text %q", data, d.Pages[0].Text)
	}
	b.extractor.before = nil
	b.want(b.run(), counts{Updated: 1})
	if got := b.corpus.doc(t, "a.md").Pages[0].Text; got != "Second, and longer." {
		t.Errorf("text %q", got)
	}
}

func TestRun_LooksAgainAtAFileThatChangesWhileItIsCopied(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Text 0.")
	n := 0
	b.blobs.put = func() error { n++; b.write("a.md", fmt.Sprintf("Text %d.", n%10)); return nil }
	b.want(b.run(), counts{Indexed: 1})
	if n != snapshotTries {
		t.Errorf("%d tries", n)
	}
	b.blobs.put = nil
	b.extractor.take()
	b.want(b.run(), counts{Unchanged: 1}) // read again, but it is the same
	if n := b.corpus.batches; n != 3 {
		t.Errorf("%d batches", n)
	}
	b.want(b.run(), counts{Unchanged: 1})
	if n := b.corpus.batches; n != 3 {
		t.Errorf("%d batches", n)
	}
}

func TestRun_StopsSoonWhenCancelledAndGoesOnLater(t *testing.T) {
	b := newBench(t)
	const files = 300
	for i := range files {
		b.write(fmt.Sprintf("f%03d.md", i), fmt.Sprintf("Text %d.", i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	b.corpus.onApply = func(batch retrieval.Batch) error {
		if len(batch.Put) > 0 {
			n++
		}
		if n == 2 {
			cancel()
		}
		return nil
	}
	r, err := b.try(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if got := len(b.corpus.docs); got != r.Indexed || got == 0 || got == files {
		t.Errorf("%d documents, and the report says %d", got, r.Indexed)
	}
	b.corpus.onApply = nil
	done := r.Indexed
	b.want(b.run(), counts{Indexed: files - done, Unchanged: done})
}

func TestRun_StopsAnExtractionWhenCancelled(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	ctx, cancel := context.WithCancel(context.Background())
	b.extractor.before = func(ctx context.Context, _ string) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	if _, err := b.try(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(b.corpus.docs)+len(b.corpus.files) != 0 {
		t.Errorf("rows %v", b.corpus.files)
	}
}

func TestRun_SweepsWhenSomethingChanged(t *testing.T) {
	b := newBench(t)
	n := 0
	b.cfg.Sweep = func(context.Context) (int, error) { n++; return 0, nil }
	b.write("a.md", "Alpha.")
	b.run()
	b.run()
	b.remove("a.md")
	b.run()
	if n != 2 {
		t.Errorf("swept %d times", n)
	}
}

func TestRun_OneAtATime(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	var inner error
	b.extractor.before = func(ctx context.Context, _ string) error {
		_, inner = b.try(ctx)
		return nil
	}
	b.run()
	var locked *LockedError
	if !errors.As(inner, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error %v", inner)
	}
	b.extractor.before = nil
	b.want(b.run(), counts{Unchanged: 1})
}

func TestRun_ReportsProgress(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("bad.pdf", "DAMAGED")
	b.run()
	b.write("b.md", "Beta.")
	var phases []Phase
	var last Progress
	_, err := New(b.cfg).Run(context.Background(), []string{b.dir}, func(p Progress) {
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
		last = p
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Phase{Scanning, Indexing, Done}; !slices.Equal(phases, want) {
		t.Errorf("phases %v", phases)
	}
	last.Rate = 0
	want := Progress{Phase: Done, FilesTotal: 3, FilesDone: 3, Unchanged: 2, Failed: 1,
		PagesDone: 1, ChunksDone: 1, BytesTotal: 5, BytesDone: 5}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
}
