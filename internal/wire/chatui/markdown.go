package chatui

import "strings"

// sniffer detects whether a growing text is Markdown, that is, whether it has a mark that would look odd
// as plain text. The result never changes back.
type sniffer struct {
	markdown bool
	seen     int // bytes that were examined
	line     int // start of the last line that was examined
}

// look examines what was added to text since the last call, and returns whether text is Markdown.
func (s *sniffer) look(text string) bool {
	if s.markdown || s.seen == len(text) {
		return s.markdown
	}
	fresh := text[max(0, s.seen-1):] // from one byte earlier, because a mark may be split between two calls
	for _, mark := range []string{"**", "__", "`", "]("} {
		s.markdown = s.markdown || strings.Contains(fresh, mark)
	}
	s.markdown = s.markdown || opensBlock(text[s.line:])
	for from := max(s.line, s.seen); !s.markdown; {
		end := strings.IndexByte(text[from:], '\n')
		if end < 0 {
			break
		}
		s.line = from + end + 1
		s.markdown = opensBlock(text[s.line:])
		from = s.line
	}
	s.seen = len(text)
	return s.markdown
}

// opensBlock reports whether a line begins like a heading, a list, a quotation or a table.
func opensBlock(line string) bool {
	for line != "" && line[0] == ' ' {
		line = line[1:]
	}
	if line == "" || strings.IndexByte("-*+>|#0123456789", line[0]) < 0 {
		return false
	}
	for _, mark := range []string{"- ", "* ", "+ ", "> ", "| "} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	if rest := strings.TrimLeft(line, "#"); len(rest) < len(line) && len(line)-len(rest) <= 6 {
		return strings.HasPrefix(rest, " ")
	}
	if rest := strings.TrimLeft(line, "0123456789"); len(rest) < len(line) && len(line)-len(rest) <= 3 {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return false
}
