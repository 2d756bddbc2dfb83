package internal_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// predictable are packages whose numbers, or identifiers in their default form, can be foretold by
// who has seen some of them.
var predictable = []string{"math/rand", "math/rand/v2", "github.com/oklog/ulid", "github.com/oklog/ulid/v2", "github.com/rs/xid"}

// mayForetell lists the files that may use such a package, and for what. None of them makes an
// identifier, a token or the name of a temporary file: those come from package ident or crypto/rand.
var mayForetell = map[string]string{
	"internal/interrupt/interrupt.go":      "spreads the times at which sites are read again",
	"internal/documents/source/call.go":    "spreads the times of retries",
	"internal/llm/retry.go":                "spreads the times of retries",
	"internal/tool/mcptool/mcptool.go":     "spreads the times at which replicas renew tokens",
	"internal/store/postgres.go":           "spreads the times of retries",
	"internal/store/postgres_turnlocks.go": "spreads the times of retries",
	"test/bench/sessions.go":               "draws made-up questions",
}

func TestIdentifiers_ComeFromNoPredictableSource(t *testing.T) {
	used := map[string]bool{}
	for file, imported := range allImports(t, "..") {
		if strings.HasSuffix(path.Dir(file), "test") {
			continue // a conformance suite or fakes
		}
		for _, source := range predictable {
			if !slices.Contains(imported, source) {
				continue
			}
			used[file] = true
			if mayForetell[file] == "" {
				t.Errorf("%s imports %s: make identifiers with package ident or crypto/rand, or list here what the numbers are for", file, source)
			}
		}
	}
	for file := range mayForetell {
		if !used[file] {
			t.Errorf("%s is in the list of this test but uses no predictable source", file)
		}
	}
}
