package upload_test

import (
	"path/filepath"
	"testing"

	"parley/internal/documents/upload"
	"parley/internal/documents/upload/uploadtest"
)

func TestDisk_Conforms(t *testing.T) {
	uploadtest.Files(t, func(t *testing.T) upload.Files { return upload.Disk(filepath.Join(t.TempDir(), "uploads")) })
}
