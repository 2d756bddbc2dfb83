package wiki

import (
	"strings"

	"parley/internal/lazyregexp"
)

var wikiListTag = lazyregexp.New(`(?i)\s*<(/?)(ol|ul|li)(?:\s[^>]*)?>\s*`)

// maxWikiLists is the maximum depth of lists inside each other.
const maxWikiLists = 10

// wikiHTMLLists converts lists in HTML, which wikis also allow, to wiki markup.
func wikiHTMLLists(lines []string) []string {
	var l wikiLists
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, codeMark), !wikiListTag.MatchString(line) && (len(l.open) == 0 || startsBlock(line)):
			l.add(line)
			l.open = l.open[:0] // a list without an end does not take in the next lines
		default:
			l.take(line)
		}
	}
	l.end()
	return l.lines
}

// startsBlock reports whether a line begins a block in wiki markup.
func startsBlock(line string) bool {
	return line == "" || strings.ContainsRune("=*#:;{|-", rune(line[0]))
}

// wikiLists holds the lines written so far, and the markers of the open lists.
type wikiLists struct {
	lines []string
	last  strings.Builder // the line after these, which may grow
	begun bool            // there is such a line
	open  []byte
}

// add begins a line.
func (l *wikiLists) add(line string) {
	l.end()
	l.last.WriteString(line)
	l.begun = true
}

func (l *wikiLists) end() {
	if l.begun {
		l.lines = append(l.lines, l.last.String())
		l.last.Reset()
		l.begun = false
	}
}

func (l *wikiLists) take(line string) {
	for line != "" {
		m := wikiListTag.FindStringSubmatchIndex(line)
		if m == nil {
			l.text(line)
			return
		}
		l.text(line[:m[0]])
		tag := strings.ToLower(line[m[2]:m[5]])
		line = line[m[1]:]
		switch tag {
		case "ol", "ul":
			if len(l.open) == 0 {
				l.add("") // so that it does not continue an earlier list
			}
			if len(l.open) < maxWikiLists {
				l.open = append(l.open, map[string]byte{"ol": '#', "ul": '*'}[tag])
			}
		case "/ol", "/ul":
			if l.open = l.open[:max(0, len(l.open)-1)]; len(l.open) == 0 {
				l.add("")
			}
		case "li":
			if len(l.open) == 0 {
				l.open = append(l.open, '*')
			}
			l.add(string(l.open) + " ")
		}
	}
}

// text continues the open item.
func (l *wikiLists) text(text string) {
	text = strings.TrimSpace(text)
	const longItem = 10_000
	switch {
	case text == "":
	case l.begun && len(l.open) > 0 && l.last.Len() < longItem:
		l.last.WriteString(text + " ")
	default:
		l.add(text)
	}
}
