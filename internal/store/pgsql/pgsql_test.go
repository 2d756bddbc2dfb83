package pgsql_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/store/pgsql"
)

func TestTranslate(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":                                 "SELECT 1",
		"a = ? AND b IN (?,?)":                     "a = $1 AND b IN ($2,$3)",
		"a = ?2 AND b = ?1 AND c = ?2 AND d = ?":   "a = $2 AND b = $1 AND c = $2 AND d = $3",
		"a = '?' AND b = 'it''s ?' AND c = ?":      "a = '?' AND b = 'it''s ?' AND c = $1",
		`a LIKE ? ESCAPE '\' OR b LIKE ?`:          `a LIKE $1 ESCAPE '\' OR b LIKE $2`,
		"SELECT a FROM b WHERE c = ? /* lock */":   "SELECT a FROM b WHERE c = $1 FOR UPDATE",
		"SELECT '/* lock */' FROM b /* lock */ --": "SELECT '/* lock */' FROM b FOR UPDATE --",
	} {
		if got := pgsql.Translate(query); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

func TestDecode_LeavesTextOfOthersAlone(t *testing.T) {
	for _, s := range []string{"", "plain", "\uFDD0", "\uFDD0x", "a\uFDD0"} {
		if got := pgsql.Decode(s); got != s {
			t.Errorf("Decode(%q) = %q", s, got)
		}
	}
}

// Every text comes back as it was, and PostgreSQL takes what is stored.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00b", "\xff\xfe", "\uFDD0", "\uFDD0\uFDD0\x00", "\uFDD0\u0141", "\xef\xb7", "\uFFFD"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stored := pgsql.Encode(s)
		if !utf8.ValidString(stored) || strings.ContainsRune(stored, 0) {
			t.Errorf("Encode(%q) = %q, which PostgreSQL refuses", s, stored)
		}
		if got := pgsql.Decode(stored); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	})
}
