package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// forge writes an archive of files with a right checksum.
func forge(t *testing.T, all map[string]string) (file string) {
	t.Helper()
	var raw bytes.Buffer
	packed, err := zstd.NewWriter(&raw)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(packed)
	names := slices.Sorted(maps.Keys(all))
	if i := slices.Index(names, aboutName); i > 0 {
		names = append([]string{aboutName}, slices.Delete(names, i, i+1)...)
	}
	for _, name := range names {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(all[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(all[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw.Bytes())
	file = filepath.Join(t.TempDir(), "forged.tar.zst")
	if err := os.WriteFile(file, appendTrailer(raw.Bytes(), sum[:]), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
