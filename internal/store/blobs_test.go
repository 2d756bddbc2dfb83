package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"parley/internal/retrieval"
)

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func (b *Blobs) read(t *testing.T, sha string) ([]byte, error) {
	t.Helper()
	f, err := b.Open(sha)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// files lists the files below the folder of blobs.
func (b *Blobs) files(t *testing.T) []string {
	t.Helper()
	all := []string{}
	err := fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBlobs_KeepWhatWasPut(t *testing.T) {
	b := mustOpen(t, t.TempDir()).Blobs()
	for _, want := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("long\x00"), 100_000)} {
		for range 2 { // storing the same bytes twice keeps one file
			sha, size, err := b.Put(t.Context(), iotest.HalfReader(bytes.NewReader(want)))
			if err != nil || sha != sum(want) || size != int64(len(want)) {
				t.Fatalf("Put of %d bytes: %s, %d, %v", len(want), sha, size, err)
			}
			got, err := b.read(t, sha)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes came back as %d: %v", len(want), len(got), err)
			}
		}
	}
	if n := len(b.files(t)); n != 3 {
		t.Errorf("%d files, want 3: %v", n, b.files(t))
	}
}

func TestBlobs_OpenNothingElse(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, dir).Blobs()
	secret := strings.Repeat("b", 64)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "bb"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "blobs", "bb", secret)); err != nil {
		t.Skip(err)
	}
	for _, key := range []string{"", ".", "..", "../secret", "../../state.db", "bb", strings.Repeat("a", 64),
		strings.Repeat("A", 64), strings.Repeat("a", 63), strings.Repeat("a", 65), "../" + strings.Repeat("a", 61),
		strings.Repeat("a", 63) + "\x00", strings.Repeat("a", 62) + "/a"} {
		if _, err := b.Open(key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q): %v, want fs.ErrNotExist", key, err)
		}
	}
	if data, err := b.read(t, secret); err == nil {
		t.Errorf("a symbolic link led out of the folder: %q", data)
	}
}

func TestBlobs_LeaveNothingOfABrokenPut(t *testing.T) {
	b := mustOpen(t, t.TempDir()).Blobs()
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("cable")))
	if _, _, err := b.Put(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "cable") {
		t.Errorf("Put: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.Put(ctx, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: %v, want context.Canceled", err)
	}
	if files := b.files(t); len(files) > 0 {
		t.Errorf("files are left: %v", files)
	}
}

// age sets a file's time back.
func (b *Blobs) age(t *testing.T, name string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	if err := b.root.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestBlobs_SweepRemovesWhatIsOldAndUnused(t *testing.T) {
	b := mustOpen(t, t.TempDir()).Blobs()
	put := func(text string, age time.Duration) string {
		sha, _, err := b.Put(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		b.age(t, sha[:2]+"/"+sha, age)
		return sha
	}
	used, unused, young := put("used", 2*time.Hour), put("unused", 2*time.Hour), put("young", time.Minute)
	again := put("again", 2*time.Hour)
	if _, _, err := b.Put(t.Context(), strings.NewReader("again")); err != nil { // renews its age
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"tmp-dead": 2 * time.Hour, "tmp-alive": 0, "notes.txt": 2 * time.Hour} {
		if err := b.root.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b.age(t, name, age)
	}
	interrupted := put("interrupted", 2*time.Hour)
	if err := b.root.Rename(interrupted[:2]+"/"+interrupted, interrupted[:2]+"/"+interrupted+sweepSuffix); err != nil {
		t.Fatal(err)
	}
	keep := func(sha string) bool { return sha == used || sha == interrupted }
	n, err := b.Sweep(t.Context(), time.Hour, keep)
	if n != 1 || err != nil {
		t.Errorf("Sweep: %d, %v, want 1", n, err)
	}
	for sha, want := range map[string]bool{used: true, unused: false, young: true, again: true, interrupted: true} {
		if _, err := b.read(t, sha); (err == nil) != want {
			t.Errorf("blob %.8s: %v, want it kept: %t", sha, err, want)
		}
	}
	for name, want := range map[string]bool{"tmp-dead": false, "tmp-alive": true, "notes.txt": true} {
		if _, err := b.root.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v, want it kept: %t", name, err, want)
		}
	}
}

// Put stores one old blob repeatedly while sweeps try to remove it. Every acknowledged blob must
// exist.
func TestBlobs_PutSurvivesASweepBesideIt(t *testing.T) {
	b := mustOpen(t, t.TempDir()).Blobs()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := b.Sweep(t.Context(), time.Hour, func(string) bool { return false }); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 200 {
		sha, _, err := b.Put(t.Context(), strings.NewReader("contested"))
		if err != nil {
			t.Error(err)
			break
		}
		// A sweep may just have renamed the file and be about to restore its name.
		found := false
		for deadline := time.Now().Add(time.Minute); !found && time.Now().Before(deadline); {
			if _, err = b.read(t, sha); err != nil {
				time.Sleep(time.Millisecond)
			}
			found = err == nil
		}
		if !found {
			t.Errorf("blob is gone: %v", err)
			break
		}
		at := time.Now().Add(-2 * time.Hour)
		b.root.Chtimes(sha[:2]+"/"+sha, at, at)
	}
	cancel()
	wg.Wait()
}

func TestDB_SweepsBlobsWithoutDocuments(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	var shas []string
	for _, text := range []string{"kept", "dropped"} {
		sha, _, err := db.Blobs().Put(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		db.Blobs().age(t, sha[:2]+"/"+sha, 2*time.Hour)
		shas = append(shas, sha)
	}
	rev, err := db.Corpus().NextRevisions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	d := retrieval.Document{ID: "d", Name: "kept", Revision: rev, SHA256: shas[0]}
	if _, err := db.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{{Document: d}}}); err != nil {
		t.Fatal(err)
	}
	if n, err := db.SweepBlobs(t.Context(), time.Hour); n != 1 || err != nil {
		t.Errorf("SweepBlobs: %d, %v, want 1", n, err)
	}
	if _, err := db.Blobs().read(t, shas[0]); err != nil {
		t.Error(err)
	}
}
