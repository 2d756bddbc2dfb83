package retrieval

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckNamespace returns an error that says why people cannot give a namespace this name; nil if they can.
func CheckNamespace(name string) error {
	if name == "" || len(name) > 128 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return errors.New("a namespace is a name of 1 to 128 bytes without control characters")
	}
	if strings.HasPrefix(name, asideMark) {
		return errors.New("names of namespaces do not begin with U+10FFFF")
	}
	return nil
}
