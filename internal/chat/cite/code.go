package cite

import "strings"

// maxFenceInfo is how much is kept of what stands behind an opening fence.
const maxFenceInfo = 12

// codeState tells code from text in Markdown (CommonMark 0.31, sections 4.5 and 6.1), as far as a
// stream shows it: inline code is taken to end with its line at the latest, and a fence inside a
// quotation or a list item is taken for inline code. Both err on the side of text.
type codeState struct {
	fence  byte   // '`' or '~' inside a fence
	width  int    // of the fence that opened
	inInfo bool   // on the line of the opening fence
	info   string // what stands there
	prose  bool   // the fence encloses Markdown
	ending bool   // the line began like a closing fence
	inline int    // width of the marks that opened inline code
	filled bool   // the line holds more than indentation
	indent int
}

// inCode reports whether what comes now is code.
func (s *codeState) inCode() bool {
	return s.fence != 0 && !s.prose && !s.inInfo || s.inline > 0
}

// mark takes note of n code marks in a row, before they pass.
func (s *codeState) mark(c byte, n int) {
	start := !s.filled && s.indent <= 3
	switch {
	case s.fence != 0 && s.inInfo:
		if c == '`' && s.fence == '`' {
			*s = codeState{filled: true} // section 4.5: no fence has marks behind it
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

// pass takes note of text that is given out, code marks included.
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
