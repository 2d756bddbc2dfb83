package internal_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Two branches can each add the next migration. Together they do not open a database, which no merge shows.
func TestMigrations_AreNumberedWithoutGaps(t *testing.T) {
	for _, database := range []string{"corpus", "state"} {
		files, err := filepath.Glob("store/migrations/" + database + "/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", database, len(files), err)
		}
		for i, file := range files {
			if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(filepath.Base(file), want) {
				t.Errorf("%s should begin with %s: give the migration that was merged last the next number", file, want)
			}
		}
	}
}
