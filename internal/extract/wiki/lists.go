package wiki

import (
	"strings"

	"parley/internal/lazyregexp"
)

var wikiListTag = lazyregexp.New(`(?i)\s*<(/?)(ol|ul|li)(?:\s[^>]*)?>\s*`)

// maxWikiLists bounds lists inside each other.
const maxWikiLists = 10

// wikiHTMLLists writes lists that are marked up in HTML, which a wiki allows too, as a wiki's own.
func wikiHTMLLists(lines []string) []string {
	var l wikiLists
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, codeMark), !wikiListTag.MatchString(line) && (len(l.open) == 0 || startsBlock(line)):
			l.add(line)
			l.open = l.open[:0] // a list that was never ended does not swallow what follows
		default:
			l.take(line)
		}
	}
	l.end()
	return l.lines
}

// startsBlock holds for a line that begins something of its own in a wiki's markup.
func startsBlock(line string) bool {
	return line == "" || strings.ContainsRune("=*#:;{|-", rune(line[0]))
}

// wikiLists are the lines that were written, and the markers of the lists that are open.
type wikiLists struct {
	lines []string
	last  strings.Builder // the line behind them, which may grow
	begun bool            // there is one
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
				l.add("") // it goes on with no list before it
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

// text goes on with the item that is open.
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
