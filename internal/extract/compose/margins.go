package compose

import (
	"strings"
	"unicode"
)

// SaysMoreThanPages reports whether a header or footer has more text than a page number.
func SaysMoreThanPages(text string) bool {
	letters := 0
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		switch strings.Trim(word, ".,:") {
		case "page", "of", "seite", "von", "página", "pagina", "de", "di", "strona", "z":
			continue
		}
		for _, r := range word {
			if unicode.IsLetter(r) {
				letters++
			}
		}
	}
	return letters >= 2
}
