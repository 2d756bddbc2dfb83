package pdf

import (
	"strings"

	"parley/internal/lazyregexp"
)

// pageNumber matches a line that may be only the number of its page, perhaps with the letter of its part: "12", "F-3",
// "- 4 -", "Page 5 of 9".
var pageNumber = lazyregexp.New(`^(?:[-–—|] ?)?((?:page )?(?:[a-z]{1,3} ?[-–.] ?)?)(\p{Nd}{1,4})(?: ?[-–—|]| ?(?:of|/) ?\p{Nd}{1,4})?$`)

// leastNumbered is the number of pages on which lines must count the pages to be page numbers whatever their position is.
// On fewer pages, a list of figures at the ends of pages could do so by chance.
const leastNumbered = 5

// numbering holds the pattern that the page numbers of one part of a document share.
type numbering struct {
	top    bool   // they are the first lines of their pages, not the last ones
	prefix string // "f-"
	offset int    // between the number that is printed and the page's own
}

// dropPageNumbers removes numbers that are above or below all other text of their pages and count the pages. In reports
// that were printed from a browser, page numbers are directly below the text, so their position says nothing.
func dropPageNumbers(pages []*pdfPage) {
	parts := map[numbering]map[*pdfPage]int{} // the index of the line on each page
	body := newRunningRule(pages).body
	for _, p := range pages {
		for _, top := range []bool{true, false} {
			i := outermost(p.lines, top)
			if i < 0 || len(p.lines) == 1 || p.lines[i].size > 1.3*body { // the number of a step or a chapter
				continue
			}
			m := pageNumber.FindStringSubmatch(strings.ToLower(string(p.lines[i].Text)))
			if m == nil {
				continue
			}
			n := numbering{top, m[1], lineNumbers([]byte(m[2]))[0] - p.number}
			if parts[n] == nil {
				parts[n] = map[*pdfPage]int{}
			}
			parts[n][p] = i
		}
	}
	for _, lines := range parts {
		if len(lines) < leastNumbered {
			continue
		}
		for p, i := range lines {
			p.lines[i].Text = nil
		}
	}
	for _, p := range pages {
		kept := p.lines[:0]
		for _, line := range p.lines {
			if line.Text != nil {
				kept = append(kept, line)
			}
		}
		p.lines = kept
	}
}

// outermost returns the index of the line that is above all others, or below them; -1 if two lines share that place.
func outermost(lines []pdfLine, top bool) int {
	best, shared := -1, false
	for i := range lines {
		switch {
		case best >= 0 && abs(lines[i].base-lines[best].base) < 2:
			shared = true
		case best < 0 || (lines[i].base > lines[best].base) == top:
			best, shared = i, false
		}
	}
	if shared {
		return -1
	}
	return best
}
