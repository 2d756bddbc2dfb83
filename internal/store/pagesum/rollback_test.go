//go:build linux || darwin

package pagesum_test

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"parley/internal/store/pagesum"
)

// Without a WAL, a failed VACUUM is rolled back page by page, in a file that is already marked as
// having checksums.
func TestVacuum_ThatIsTakenBackLeavesPagesAsTheyWere(t *testing.T) {
	path := makeDatabase(t, "")
	db := openAs(t, path, pagesum.VFS)
	run(t, db, "PRAGMA journal_mode = MEMORY", "PRAGMA temp_store = MEMORY",
		"INSERT INTO rows (body) VALUES (hex(zeroblob(2000000)))") // it needs more pages, because each has less room
	want, err := all(db)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := limit
	full.Cur = uint64(info.Size())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	_, failed := db.Exec("VACUUM")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if failed == nil {
		t.Fatal("VACUUM did not fail, so nothing is tested")
	}
	db.Close()
	for _, vfs := range []string{"", pagesum.VFS} {
		db := openAs(t, path, vfs)
		if got, err := all(db); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d rows of %d, %v", len(got), len(want), err)
		}
		db.Close()
	}
}
