package pdf

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// leaders are the marks that lead the eye across a line or mark a space for writing, with the number of them in a row that
// is more than punctuation.
var leaders = map[rune]int{'.': 5, '_': 5, '·': 5, '•': 5, '․': 5, '∙': 5, '⋅': 5, '…': 2, '‥': 3}

// withoutLeaders replaces leaders by a space. A point that is directly before a number and apart from the leader belongs to
// the number.
func withoutLeaders(m compose.Mapped) compose.Mapped {
	s := string(m.Text)
	var out compose.Mapped
	kept := 0
	for i := 0; i < len(s); {
		mark, size := utf8.DecodeRuneInString(s[i:])
		least, known := leaders[mark]
		if !known {
			i += size
			continue
		}
		marks, end := 0, i
		for j := i; j < len(s); {
			r, n := utf8.DecodeRuneInString(s[j:])
			if r != mark && r != ' ' {
				if mark == '.' && unicode.IsDigit(r) && end == j && strings.HasSuffix(s[i:end], " .") {
					marks, end = marks-1, end-1
				}
				break
			}
			j += n
			if r == mark {
				marks++
				end = j
			}
		}
		if marks >= least {
			out.Append(m.Slice(kept, i))
			out.Put(" ")
			kept = end
		}
		i = end
	}
	if kept == 0 {
		return m
	}
	out.Append(m.Slice(kept, len(s)))
	return out
}

// inNFC converts text to NFC; a composed character maps to the first of its parts.
func inNFC(m compose.Mapped) compose.Mapped {
	if norm.NFC.IsNormal(m.Text) {
		return m
	}
	var out compose.Mapped
	for from := 0; from < len(m.Text); {
		n := norm.NFC.NextBoundary(m.Text[from:], true)
		part := m.Slice(from, from+n)
		if norm.NFC.IsNormal(part.Text) || part.Runs[0].Char == extract.Inserted {
			out.Append(part)
		} else {
			for i, r := range []rune(norm.NFC.String(string(part.Text))) {
				out.Rune(r, part.Runs[0].Char+i)
			}
		}
		from += n
	}
	return out
}

// isRTL reports whether most letters of a text are written from right to left.
func isRTL(s string) bool {
	rtl, letters := 0, 0
	for _, r := range s {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana) {
			rtl++
		}
	}
	return rtl*2 > letters
}

// measureRoom sets the room of the lines of a page. Among the lines that start at about the same place, it measures up to
// the end of the longest one, after leaving out the longest tenth.
func measureRoom(lines []pdfLine) {
	const maxLines = 1000 // the time grows with the square
	if len(lines) > maxLines {
		return
	}
	for i := range lines {
		line := &lines[i]
		var ends []float32
		for j := range lines {
			other := &lines[j]
			start, end := other.left-line.left, other.right-line.right
			if line.rtl {
				start, end = line.right-other.right, line.left-other.left
			}
			if start >= -3*line.size && start <= 3*line.size {
				ends = append(ends, end)
			}
		}
		slices.Sort(ends)
		line.room = ends[(len(ends)-1)*9/10]
	}
}
