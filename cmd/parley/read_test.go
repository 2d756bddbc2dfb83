package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
	"parley/internal/ocr/ocrtest"
	"parley/test/needs"
)

func TestRead_OpensFilesInsideALockedArchiveWithAPasswordOfTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "locked.zip")
	if err := os.WriteFile(file, extracttest.LockedFile(t, "7zip-Deflate-AES256.zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"read", "--json", "--data", filepath.Join(dir, "store"), file}
	cmd := exec.Command(binary(t), args...)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != exitPartial || !strings.Contains(string(out), `"reason":"encrypted"`) {
		t.Errorf("without a password: %v, %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(parley(t, append(args, "--password", "wrong, too", "--password", extracttest.LockedPassword)...)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d files, want the archive and the file inside: %q", len(lines), lines)
	}
	var archive, inside readFile
	for i, f := range []*readFile{&archive, &inside} {
		if err := json.Unmarshal([]byte(lines[i]), f); err != nil {
			t.Fatal(err)
		}
	}
	if archive.File != file || len(archive.Inside) != 1 || inside.File != filepath.Join(file, archive.Inside[0]) || inside.Reason != "" {
		t.Errorf("archive %+v, inside %+v", archive, inside)
	}
	if _, err := os.Stat(filepath.Join(dir, "store")); !os.IsNotExist(err) {
		t.Errorf("the data folder was made: %v", err)
	}
}

func TestRead_RecognisesTheTextOfAScanAsIngestionDoes(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "scan.pdf")
	picture := ocrtest.Picture(t, 1500, 900, .02, ocrtest.Paragraph(120, 150, "Lost keys are replaced", "for a fee of $45 each.")...)
	if err := os.WriteFile(file, extracttest.ScannedPDF(t, picture), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"read", "--data", filepath.Join(dir, "store"), file}
	if out := parley(t, args...); !strings.HasPrefix(out, "File: "+file) || !strings.Contains(out, "--- page 1 ---") || !strings.Contains(out, "paragraph  Lost keys are replaced for a fee of $45 each.") {
		t.Errorf("read %q", out)
	}
	off := exec.Command(binary(t), append(args, "--ingest-ocr", "off")...)
	out, err := off.Output()
	if off.ProcessState.ExitCode() != exitPartial || !strings.Contains(string(out), "Not indexed (scan-only)") {
		t.Errorf("without recognition: %v, %s", err, out)
	}
}
