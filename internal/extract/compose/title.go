package compose

import (
	"strings"
	"unicode"

	"parley/internal/lazyregexp"
)

// SensibleTitle returns a title from the properties of a file, cleaned, or "" if a program wrote it:
// a default such as "Untitled", or a file name.
func SensibleTitle(title string) string {
	title = OneLine(Clean(title))
	if automaticTitle.MatchString(title) || fileExtension.MatchString(title) {
		return ""
	}
	if !strings.ContainsFunc(title, unicode.IsLetter) || len(title) > 300 || !strings.ContainsFunc(title, unicode.IsLower) && strings.ContainsAny(title, "_\\") {
		return ""
	}
	return title
}

var (
	automaticTitle = lazyregexp.New(`(?i)^(?:untitled.*|no title|title|document\d*|microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|presentation\d*|book\d+|slide \d+|.*\.(?:tmp|temp)|print|blank|\(anonymous\)|unnamed|unknown|.*://.*)$`)
	fileExtension  = lazyregexp.New(`(?i)\.(?:docx?|odt|rtf|pptx?|xlsx?|pdf|tex|dvi|ps|eps|indd|qxd|pmd|fm|html?|txt|cdr|ai|pub|vsd|wpd)$`)
)
