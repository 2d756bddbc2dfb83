package cite

import "strings"

// maxFenceInfo is the number of bytes kept of a fence's info string.
const maxFenceInfo = 12

// codeState distinguishes code from text in Markdown (CommonMark 0.31, sections 4.5 and 6.1), as far as a
// stream allows: it assumes that inline code ends with its line at the latest, and takes a fence inside a
// quotation or a list item for inline code. Both errors make it treat some code as text.
type codeState struct {
	fence  byte   // '`' or '~' inside a fence
	width  int    // number of marks of the opening fence
	inInfo bool   // on the line of the opening fence
	info   string // the info string of the fence
	prose  bool   // the fence encloses Markdown, which is not code
	ending bool   // the line began like a closing fence
	inline int    // number of marks that opened inline code; 0 outside
	filled bool   // the line has more than indentation
	indent int
}

// inCode reports whether the next byte is code.
func (s *codeState) inCode() bool {
	return s.fence != 0 && !s.prose && !s.inInfo || s.inline > 0
}

// mark updates the state for n code marks in a row. Call it before pass is called with the marks.
func (s *codeState) mark(c byte, n int) {
	start := !s.filled && s.indent <= 3
	switch {
	case s.fence != 0 && s.inInfo:
		if c == '`' && s.fence == '`' {
			*s = codeState{filled: true} // section 4.5: the info string after a fence of ` has no `, so this is inline code
		}
	case s.fence != 0:
		s.ending = start && c == s.fence && n >= s.width
	case start && n >= 3:
		*s = codeState{fence: c, width: n, inInfo: true}
	case c != '`':
	case s.inline == 0:
		s.inline = n
	case s.inline == n:
		s.inline = 0
	}
}

// pass updates the state for text that is written, including code marks.
func (s *codeState) pass(text string) {
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\n':
			s.endLine()
		case c == ' ' && !s.filled:
			s.indent++
		default:
			s.filled = true
			if s.inInfo && c != s.fence && len(s.info) < maxFenceInfo {
				s.info += text[i : i+1]
			}
			if s.ending && c != ' ' && c != s.fence {
				s.ending = false
			}
		}
	}
}

func (s *codeState) endLine() {
	if s.ending {
		*s = codeState{}
		return
	}
	if s.inInfo {
		s.inInfo = false
		name := strings.ToLower(strings.TrimSpace(s.info))
		s.prose = name == "markdown" || name == "md"
	}
	s.filled, s.indent, s.inline = false, 0, 0
}
