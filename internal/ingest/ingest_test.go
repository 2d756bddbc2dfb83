package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
			Generation: Generation,
		},
		Pages:  []retrieval.Page{{Text: "Beta."}},
		Chunks: []retrieval.Chunk{{Text: "Beta.", Spans: []retrieval.Span{{End: 5}}, Tokens: CountTokens("Beta.")}},
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

func TestRun_LeavesOtherRootsAlone(t *testing.T) {
	b := newBench(t)
	b.write("one/a.md", "Alpha.")
	b.write("two/b.md", "Beta.")
	b.run("one")
	b.want(b.run("two"), counts{Indexed: 1})
	b.wantNames("a.md", "b.md")
}

func TestRun_ChangesNothingWhenAPathIsMissing(t *testing.T) {
	b := newBench(t)
	b.write("one/a.md", "Alpha.")
	b.write("two/b.md", "Beta.")
	b.run("one", "two")
	b.remove("one")
	b.remove("two/b.md")
	_, err := b.try(context.Background(), "one", "two")
	var pathErr *PathError
	if !errors.As(err, &pathErr) || !strings.Contains(err.Error(), "no such file or folder") {
		t.Errorf("error %v", err)
	}
	b.wantNames("a.md", "b.md")
}

func TestRun_RefusesTheDataFolder(t *testing.T) {
	b := newBench(t)
	if _, err := New(b.cfg).Run(context.Background(), []string{b.data}, nil); err == nil {
		t.Error("no error")
	}
	b.cfg.DataDir = filepath.Join(b.dir, "store")
	b.write("store/x.md", "Never.")
	b.write("a.md", "Alpha.")
	b.want(b.run(), counts{Indexed: 1})
}

func TestRun_NamesASingleFileByItsBaseName(t *testing.T) {
	b := newBench(t)
	b.write("deep/er/a.md", "Alpha.")
	b.want(b.run("deep/er/a.md"), counts{Indexed: 1})
	b.wantNames("a.md")
	b.want(b.run("deep/er/a.md"), counts{Unchanged: 1})
}

func TestRun_PrefixesRootsThatCollide(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{"x/docs/a.md", "y/docs/a.md", "y/docs/b.md", "z/docs/b.md", "w/a.md"} {
		b.write(p, "Text of "+p+".")
	}
	b.run("x/docs")
	b.run("y/docs")
	b.run("z/docs") // b.md itself is free
	b.run("w/a.md")
	b.wantNames("a.md", "b.md", "docs/a.md", "docs/b.md", "w/a.md")
	b.write("v/docs/b.md", "One more.")
	b.run("v/docs")
	b.wantNames("a.md", "b.md", "docs-2/b.md", "docs/a.md", "docs/b.md", "w/a.md")

	// A later collision of one file does not move the others of its root.
	b.write("z/docs/a.md", "Late.")
	b.run("z/docs")
	b.wantNames("a.md", "b.md", "docs-2/a.md", "docs-2/b.md", "docs/a.md", "docs/b.md", "w/a.md")
	b.want(b.run("x/docs", "y/docs", "z/docs", "w/a.md", "v/docs"), counts{Unchanged: 7})
}

func TestRun_ReplacesCharactersThatBreakCitations(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such names cannot exist")
	}
	b := newBench(t)
	names := []string{"a?b.md", "a#b.md", "a_b.md", "new\nline.md", "[x] 100%.md", "bad\xff.md", "bad\xfe.md",
		"rtl\u202eexe.md", "e\u0301.md", `back\slash.md`, strings.Repeat("n", 252) + ".md"}
	for _, n := range names {
		b.write(n, "Text of "+fmt.Sprintf("%q", n)+".")
	}
	b.want(b.run(), counts{Indexed: len(names)})
	for _, n := range b.corpus.names() {
		if strings.ContainsAny(n, "[]#?%<>\\\"|\n\u202e") || !utf8.ValidString(n) {
			t.Errorf("name %q", n)
		}
	}
	b.wantNames("_x_ 100_.md", "a_b-2.md", "a_b-3.md", "a_b.md", "back_slash.md", "bad_-2.md", "bad_.md",
		"new_line.md", strings.Repeat("n", 252)+".md", "rtl_exe.md", "\u00e9.md")
	if d := b.corpus.doc(t, "_x_ 100_.md"); d.Document.Title != "[x] 100%" {
		t.Errorf("title %q", d.Document.Title)
	}
	b.want(b.run(), counts{Unchanged: len(names)})
}

func TestRun_ReadsAFileOnceWhenPathsOverlap(t *testing.T) {
	b := newBench(t)
	b.write("docs/a.md", "Alpha.")
	b.write("docs/sub/b.md", "Beta.")
	b.want(b.run("docs", "docs/sub", "docs/a.md", "docs"), counts{Indexed: 2})
	b.wantNames("a.md", "sub/b.md")

	// A part of a root brings only that part up to date.
	b.remove("docs/a.md")
	b.write("docs/sub/b.md", "Changed.")
	b.write("docs/sub/c.md", "Gamma.")
	b.want(b.run("docs/sub"), counts{Indexed: 1, Updated: 1})
	b.wantNames("a.md", "sub/b.md", "sub/c.md")
	b.remove("docs/sub/c.md")
	b.want(b.run("docs/sub"), counts{Unchanged: 1, Deleted: 1})
	b.want(b.run("docs"), counts{Unchanged: 1, Deleted: 1})
}

func TestRun_TakesOverRootsWithinANewOne(t *testing.T) {
	b := newBench(t)
	b.write("docs/sub/b.md", "Beta.")
	b.write("docs/sub/c.md", "Gamma.")
	b.write("docs/a.md", "Alpha.")
	b.run("docs/sub")
	id := b.corpus.doc(t, "b.md").Document.ID
	b.remove("docs/sub/c.md")
	b.want(b.run("docs"), counts{Indexed: 1, Updated: 1, Deleted: 1})
	b.wantNames("a.md", "sub/b.md")
	if got := b.corpus.doc(t, "sub/b.md").Document.ID; got != id {
		t.Error("the document has a new id")
	}
	if len(b.corpus.roots) != 1 || len(b.corpus.files) != 2 {
		t.Errorf("roots %v, rows %v", b.corpus.roots, b.corpus.files)
	}
	b.want(b.run("docs"), counts{Unchanged: 2})
}

func TestRun_DoesNotFollowLinksOutOfTheRoot(t *testing.T) {
	b := newBench(t)
	b.write("secret.md", "Secret.")
	b.write("docs/..data/a.md", "Mounted.")
	b.write("docs/b.md", "Beta.")
	for link, to := range map[string]string{
		"docs/a.md": "..data/a.md", "docs/out.md": "../secret.md", "docs/abs.md": "/etc/passwd",
		"docs/loop": ".", "docs/broken.md": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(b.dir, link)); err != nil {
			t.Skip(err)
		}
	}
	b.want(b.run("docs"), counts{Indexed: 2, Skipped: 3})
	b.wantNames("a.md", "b.md")
}

func TestRun_FollowsTheLinkThatIsTheRoot(t *testing.T) {
	b := newBench(t)
	b.write("docs/a.md", "Alpha.")
	if err := os.Symlink("docs", filepath.Join(b.dir, "link")); err != nil {
		t.Skip(err)
	}
	b.run("link")
	b.want(b.run("docs"), counts{Unchanged: 1})
}

func TestRun_KeepsDocumentsOfAFolderThatCannotBeRead(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user may read everything")
	}
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.md", "Beta.")
	b.run()
	if err := os.Chmod(filepath.Join(b.dir, "sub"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(b.dir, "sub"), 0o755)
	b.want(b.run(), counts{Unchanged: 1, Failed: 1})
	b.wantNames("a.md", "sub/b.md")
}

func TestRun_TriesAnUnreadableFileAgain(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user may read everything")
	}
	b := newBench(t)
	b.write("a.md", "Alpha.")
	path := filepath.Join(b.dir, "a.md")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	r := b.run()
	b.want(r, counts{Failed: 1})
	if r.Failed[0].Reason != extract.Unreadable {
		t.Errorf("%+v", r.Failed)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(), counts{Indexed: 1})
}

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
		elapsed     time.Duration
		done, total int64
		want        time.Duration
	}{
		{time.Second, 0, 100 * mb, 0},
		{time.Second, 4 * mb, 100 * mb, 0},
		{time.Second, 5 * mb, 100 * mb, 19 * time.Second},
		{4 * time.Second, mb, 101 * mb, 400 * time.Second},
		{time.Minute, 0, mb, 0},
		{time.Minute, mb, mb, 0},
	} {
		if got := timeLeft(c.elapsed, c.done, c.total); got != c.want {
			t.Errorf("after %v with %d of %d bytes: %v, want %v", c.elapsed, c.done, c.total, got, c.want)
		}
	}
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
