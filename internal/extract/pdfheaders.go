package extract

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// dropRunningLines removes what is printed on page after page around the text: headers, footers
// and page numbers. A line goes when the same line stands at the same height, among the outermost
// lines of the page, on at least three pages and on two in five of the pages from the first of
// them to the last; in the margins, lines that differ in their digits are the same. The first one
// stays if it says something, because a title may be printed nowhere else.
func dropRunningLines(pages []*pdfPage) {
	places := map[string][]runningLine{}
	for i, p := range pages {
		for _, j := range outerLines(p.lines) {
			line := &p.lines[j]
			key := string(line.text)
			if inMargin(p, line) {
				key = runningKey(line.text)
			}
			places[key] = append(places[key], runningLine{i, j, line.base})
		}
	}
	drop := map[[2]int]bool{} // page and line
	for key, lines := range places {
		if barePageNumber.MatchString(key) {
			for _, l := range lines {
				drop[[2]int{l.page, l.line}] = true
			}
			continue
		}
		markRunning(pages, key, lines, drop)
	}
	for i, p := range pages {
		kept := p.lines[:0]
		for j, line := range p.lines {
			if !drop[[2]int{i, j}] {
				kept = append(kept, line)
			}
		}
		p.lines = kept
	}
}

// runningLine is a candidate: where it is and its baseline.
type runningLine struct {
	page, line int
	base       float32
}

// markRunning marks those of the lines with one key that repeat at one height.
func markRunning(pages []*pdfPage, key string, lines []runningLine, drop map[[2]int]bool) {
	slices.SortFunc(lines, func(a, b runningLine) int {
		return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.page, b.page))
	})
	const tolerance = 3 // points
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[to].base-lines[to-1].base <= tolerance {
			to++
		}
		same := slices.Clone(lines[from:to])
		from = to
		slices.SortFunc(same, func(a, b runningLine) int {
			return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(a.line, b.line))
		})
		distinct := 1
		for i := range same[1:] {
			if same[i+1].page != same[i].page {
				distinct++
			}
		}
		first, last := pages[same[0].page].number, pages[same[len(same)-1].page].number
		if distinct < 3 || distinct*5 < (last-first+1)*2 {
			continue
		}
		if saysSomething(key) {
			same = same[1:]
		}
		for _, l := range same {
			drop[[2]int{l.page, l.line}] = true
		}
	}
}

// outerLines are the indexes of the lines on the three highest and the three lowest baselines.
func outerLines(lines []pdfLine) []int {
	var bases []float32
	for _, l := range lines {
		bases = append(bases, l.base)
	}
	slices.Sort(bases)
	bases = slices.CompactFunc(bases, func(a, b float32) bool { return math.Abs(float64(a-b)) < 2 })
	low, high := bases[min(2, len(bases)-1)], bases[max(0, len(bases)-3)]
	var outer []int
	for i, l := range lines {
		if l.base <= low+2 || l.base >= high-2 {
			outer = append(outer, i)
		}
	}
	return outer
}

// inMargin holds for lines in the upper and lower twelfth of a page.
func inMargin(p *pdfPage, line *pdfLine) bool {
	margin := (p.high - p.low) / 12
	return line.base < p.low+margin || line.base > p.high-margin
}

var digits = regexp.MustCompile(`\p{Nd}+`)

func runningKey(text []byte) string {
	return strings.ToLower(digits.ReplaceAllString(string(text), "#"))
}

// barePageNumber matches the keys that number a page wherever they stand at its edge.
var barePageNumber = regexp.MustCompile(`^(?:page|seite|página|pagina|sida|strona|страница|第) ?# ?(?:页|頁|ページ)?(?:(?:of|/|von|de|di|av|z|из|共) ?#(?: ?页)?)?$|^# ?/ ?#$|^[-–—] ?# ?[-–—]$`) //nolint:gosmopolitan // pages are numbered in every script

// saysSomething holds for a key with words other than those that number pages.
func saysSomething(key string) bool {
	letters := 0
	for _, r := range strings.NewReplacer("page", "", "of", "").Replace(key) {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 4 || letters >= 2 && !isASCII(key)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
