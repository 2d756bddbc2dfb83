package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/test/needs"
)

// On a full disk, a backup leaves the earlier one, and a restore leaves the folder as it was.
func TestBackupAndRestore_OnAFullDiskChangeNothing(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	disk := smallDisk(t, 16<<20)
	data, small := stationFolder(t, "one"), filepath.Join(disk, "data")
	file, elsewhere := filepath.Join(disk, "b.tar.zst"), filepath.Join(t.TempDir(), "b.tar.zst")
	parley(t, "backup", file, "--data", data)
	parley(t, "backup", elsewhere, "--data", stationFolder(t, "two"))
	parley(t, "restore", file, "--data", small)
	filler := filepath.Join(disk, "filler")
	names := func() string {
		found, err := filepath.Glob(filepath.Join(disk, "*"))
		hidden, err2 := filepath.Glob(filepath.Join(disk, ".*.part-*"))
		left, err3 := filepath.Glob(filepath.Join(small, "restore-*"))
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		return strings.Join(append(append(found, hidden...), left...), " ")
	}
	fill(t, filler, 0)
	before := names()
	for left := int64(0); left <= 256<<10; left = max(4<<10, left*2) {
		for _, args := range [][]string{
			{"backup", file, "--data", data},
			{"restore", "--replace", elsewhere, "--data", small},
		} {
			fill(t, filler, left)
			out, err := exec.Command(binary(t), args...).CombinedOutput()
			if err == nil && args[0] == "backup" {
				continue // it fits
			}
			if err == nil || !strings.Contains(string(out), "no space left on device") {
				t.Errorf("%s with %d bytes left: %v: %s", args[0], left, err, out)
			}
			if got := names(); got != before {
				t.Errorf("%s with %d bytes left: there are %s; there were %s", args[0], left, got, before)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			parley(t, "restore", "--check", file)
			keeperIn(t, small, "one")
		}
	}
	parley(t, "restore", "--replace", elsewhere, "--data", small)
	keeperIn(t, small, "two")
}
