package compose

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"parley/internal/lazyregexp"
)

// HeadingName matches the names of Word's heading styles.
var HeadingName = lazyregexp.New(`^heading ([1-9])$`)

// SpacesOnly replaces tabs by spaces.
var SpacesOnly = strings.NewReplacer("\t", " ")

// First returns a unless it is blank, then b.
func First(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

// maxRanges is the maximum number of ranges of pages that a list names.
const maxRanges = 20

// PageList writes page numbers as people do: "3, 5–9".
func PageList(pages []int) string {
	var b strings.Builder
	for i, ranges := 0, 0; i < len(pages); i++ {
		if ranges++; ranges > maxRanges {
			fmt.Fprintf(&b, " and %d more", len(pages)-i)
			break
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(pages[i]))
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if j > i {
			b.WriteString("–" + strconv.Itoa(pages[j]))
			i = j
		}
	}
	return b.String()
}

var markerPattern = lazyregexp.New(`^(?:[•‣◦▪●○■□–*+-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+`)

// ListMarker returns the length of the bullet or number that starts a list item, 0 for other lines.
// A letter or number counts with a full stop or parenthesis, not on its own.
func ListMarker(line string) int {
	return len(markerPattern.FindString(line[:min(len(line), 12)]))
}

// IsCapitals reports whether text has at least four letters and all of them are capitals.
func IsCapitals(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			if !unicode.IsUpper(r) {
				return false
			}
			letters++
		}
	}
	return letters >= 4
}
