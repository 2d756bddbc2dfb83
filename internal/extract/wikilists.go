package extract

import (
	"regexp"
	"strings"
)

var wikiListTag = regexp.MustCompile(`(?i)\s*<(/?)(ol|ul|li)(?:\s[^>]*)?>\s*`)

// maxWikiLists bounds lists inside each other.
const maxWikiLists = 10

// wikiHTMLLists writes lists that are marked up in HTML, which a wiki allows too, as a wiki's own.
func wikiHTMLLists(lines []string) []string {
	var l wikiLists
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, codeMark), !wikiListTag.MatchString(line) && (len(l.open) == 0 || startsBlock(line)):
			l.lines = append(l.lines, line)
			l.open = l.open[:0] // a list that was never ended does not swallow what follows
		default:
			l.take(line)
		}
	}
	return l.lines
}

// startsBlock holds for a line that begins something of its own in a wiki's markup.
func startsBlock(line string) bool {
	return line == "" || strings.ContainsRune("=*#:;{|-", rune(line[0]))
}

// wikiLists are the lines that were written, and the markers of the lists that are open.
type wikiLists struct {
	lines []string
	open  []byte
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
				l.lines = append(l.lines, "") // it goes on with no list before it
			}
			if len(l.open) < maxWikiLists {
				l.open = append(l.open, map[string]byte{"ol": '#', "ul": '*'}[tag])
			}
		case "/ol", "/ul":
			if l.open = l.open[:max(0, len(l.open)-1)]; len(l.open) == 0 {
				l.lines = append(l.lines, "")
			}
		case "li":
			if len(l.open) == 0 {
				l.open = append(l.open, '*')
			}
			l.lines = append(l.lines, string(l.open)+" ")
		}
	}
}

// text goes on with the item that is open.
func (l *wikiLists) text(text string) {
	text = strings.TrimSpace(text)
	const longItem = 10_000
	if n := len(l.lines); text != "" && n > 0 && len(l.open) > 0 && len(l.lines[n-1]) < longItem {
		l.lines[n-1] += text + " "
	} else if text != "" {
		l.lines = append(l.lines, text)
	}
}
