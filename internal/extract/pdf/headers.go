package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
)

// dropRunningLines removes the lines that are repeated around the text of each page: headers, footers and page numbers.
// Text of the body must not be lost, so a line is removed only if all of these hold: it is one of the outermost of its page
// and in the margin; nearby pages have the same line at the same height, at regular distances; its numbers are the same
// there or count the pages; and it is repeated often enough for how much it looks like text (see runningRule), or sentences
// continue past it. The first of these lines stays if it has words, because a title may be printed nowhere else.
func dropRunningLines(pages []*pdfPage) {
	rule := newRunningRule(pages)
	places := map[string][]runningLine{}
	for i, p := range pages {
		for _, j := range outerLines(p.lines) {
			if line := &p.lines[j]; inMargin(p, line, 6) {
				key := runningKey(line.Text)
				places[key] = append(places[key], runningLine{i, j, p.number, line.base, lineNumbers(line.Text)})
			}
		}
	}
	drop := map[[2]int]bool{} // page and line
	for key, lines := range places {
		for _, place := range slices.Concat(parted(samePlace(lines))...) {
			for _, run := range regularRuns(place, rule.pages) {
				if !rule.holds(key, pages[run[0].page], &pages[run[0].page].lines[run[0].line], run) && !flowsPast(pages, run) {
					continue
				}
				if saysSomething(key) {
					run = run[1:]
				}
				for _, l := range run {
					drop[[2]int{l.page, l.line}] = true
				}
			}
		}
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

// runningLine is a line that may be a running line.
type runningLine struct {
	page, line int // indexes
	number     int // of its page
	base       float32
	numbers    []int
}

// runningRule says how often a line must recur to be a running line.
type runningRule struct {
	body  float32 // size of most of the text
	bold  bool    // most of the text is
	pages int
}

func newRunningRule(pages []*pdfPage) runningRule {
	chars := map[float32]int{}
	bold, total := 0, 0
	for _, p := range pages {
		for _, line := range p.lines {
			chars[line.size] += len(line.Text)
			total += len(line.Text)
			if line.bold {
				bold += len(line.Text)
			}
		}
	}
	return runningRule{mode(chars), bold*2 > total, len(pages)}
}

// inMargin reports whether a line is in the upper or lower margin: the first or last of the given number of equal parts of a page.
func inMargin(p *pdfPage, line *pdfLine, parts float32) bool {
	margin := (p.high - p.low) / parts
	return line.base < p.low+margin || line.base > p.high-margin
}

// holds judges the lines of a run. Slides and chapters have titles in the same place for a few pages, so a line that is
// larger or bolder than the body must be on many pages in a row, or on most pages of the document. A line that is set like
// the body may be its first or last line, or the header of a table that continues.
func (r runningRule) holds(key string, p *pdfPage, line *pdfLine, run []runningLine) bool {
	n := 1
	for i := range run[1:] {
		if run[i+1].page != run[i].page {
			n++
		}
	}
	counts := !slices.Equal(run[0].numbers, run[len(run)-1].numbers)
	long := n >= 8
	switch {
	case !inMargin(p, line, 8):
		return long && !counts && len(line.gaps) == 0 && line.size > r.body*1.05
	case numberedPage.MatchString(key):
		return n >= 2 || run[0].numbers[0] == run[0].number
	case barePageNumber.MatchString(key):
		return n >= 2 && counts
	case !strings.ContainsFunc(key, unicode.IsLetter):
		return n >= 3 && counts || long
	case line.size < r.body:
		return n >= 3
	case !inMargin(p, line, 12):
		return long && !counts && len(line.gaps) == 0
	case line.size > r.body*1.05 || line.bold && !r.bold:
		return !counts && (long || n >= 4 && n*3 >= r.pages*2) // "Exhibit 4" on page 4 is a title
	}
	return n >= 5 || n >= 3 && n*2 >= r.pages
}

// parted splits the lines of each place into groups whose numbers stay the same for several pages, like those of chapters.
func parted(places [][]runningLine) (all [][][]runningLine) {
	for _, place := range places {
		var parts [][]runningLine
		stays := false
		for i, l := range place {
			if i > 0 && slices.Equal(l.numbers, place[i-1].numbers) {
				parts[len(parts)-1] = append(parts[len(parts)-1], l)
				stays = stays || l.page != place[i-1].page
				continue
			}
			parts = append(parts, []runningLine{l})
		}
		if !stays {
			parts = [][]runningLine{place}
		}
		all = append(all, parts)
	}
	return all
}

// flowsPast reports whether, on at least two pages, a sentence begins above a line of a run and continues below it: a title
// is never within a sentence.
func flowsPast(pages []*pdfPage, run []runningLine) bool {
	flows := 0
	for i, l := range run {
		p := pages[l.page]
		if i == 0 || l.page == 0 || p.number != pages[l.page-1].number+1 || p.lines[l.line].base < (p.low+p.high)/2 {
			continue
		}
		before, after := lastOfBody(pages[l.page-1]), firstBelow(p, p.lines[l.line].base)
		if before == nil || after == nil || len(before.gaps)+len(after.gaps) > 0 || before.size != after.size {
			continue
		}
		first, _ := utf8.DecodeRune(after.Text)
		if unicode.IsLower(first) && !endsSentence(before.Text) {
			flows++
		}
	}
	return flows >= 2
}

// lastOfBody returns the lowest line of a page above its lower margin, or nil if there is none.
func lastOfBody(p *pdfPage) *pdfLine {
	var last *pdfLine
	for i := range p.lines {
		if l := &p.lines[i]; l.base > p.low+(p.high-p.low)/12 && (last == nil || l.base < last.base) {
			last = l
		}
	}
	return last
}

// firstBelow returns the highest line of a page below a height, or nil if there is none.
func firstBelow(p *pdfPage, base float32) *pdfLine {
	var first *pdfLine
	for i := range p.lines {
		if l := &p.lines[i]; l.base < base-.5*l.size && (first == nil || l.base > first.base) {
			first = l
		}
	}
	return first
}

// samePlace groups lines by their height on the page.
func samePlace(lines []runningLine) [][]runningLine {
	slices.SortFunc(lines, func(a, b runningLine) int {
		return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.page, b.page))
	})
	const tolerance = 3 // points
	var places [][]runningLine
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[to].base-lines[to-1].base <= tolerance {
			to++
		}
		place := slices.Clone(lines[from:to])
		slices.SortFunc(place, func(a, b runningLine) int {
			return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(a.line, b.line))
		})
		places = append(places, place)
		from = to
	}
	return places
}

// regularRuns returns the parts of a place whose lines are on consecutive pages, or on every second page. If the place has
// lines on two thirds of all pages, it is one run.
func regularRuns(place []runningLine, pages int) [][]runningLine {
	place = slices.Clone(place)
	for i := 0; i < len(place); i++ {
		before := i > 0 && place[i].follows(place[i-1])
		after := i+1 < len(place) && place[i+1].follows(place[i])
		if len(place) > 1 && !before && !after {
			place = slices.Delete(place, i, i+1)
			i--
		}
	}
	if len(place)*3 >= pages*2 {
		return [][]runningLine{place}
	}
	var runs [][]runningLine
	step := 0 // pages between lines of the run; 0 if not yet known
	for i, l := range place {
		distance := 0
		if i > 0 {
			distance = l.number - place[i-1].number
		}
		if i == 0 || distance > 2 || step > 0 && distance > 0 && distance != step || !l.follows(place[i-1]) {
			runs = append(runs, nil)
			step = 0
		} else if distance > 0 {
			step = distance
		}
		last := &runs[len(runs)-1]
		*last = append(*last, l)
	}
	return runs
}

// follows reports whether each number of the line is the same as in an earlier line, or has grown by the number of pages
// between them.
func (l runningLine) follows(earlier runningLine) bool {
	if len(l.numbers) != len(earlier.numbers) {
		return false
	}
	for i, n := range l.numbers {
		if grown := n - earlier.numbers[i]; grown != 0 && grown != l.number-earlier.number {
			return false
		}
	}
	return true
}

// outerLines returns the indexes of the lines on the three highest and the three lowest baselines.
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

var digits = lazyregexp.New(`\p{Nd}+`)

// runningKey returns a key that is the same for lines that differ only in numbers.
func runningKey(text []byte) string {
	return strings.ToLower(digits.ReplaceAllString(string(text), "#"))
}

// lineNumbers returns the numbers that runningKey replaces. They are only compared, so they may overflow.
func lineNumbers(text []byte) []int {
	var numbers []int
	for _, run := range digits.FindAllString(string(text), -1) {
		n := 0
		for _, r := range run {
			n = n*10 + digitValue(r)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// digitValue returns the value of a digit of any script: Unicode has the digits of a script in a row from 0 to 9.
func digitValue(r rune) int {
	for _, row := range unicode.Nd.R16 {
		if r <= rune(row.Hi) {
			return int(r-rune(row.Lo)) % 10
		}
	}
	for _, row := range unicode.Nd.R32 {
		if r <= rune(row.Hi) {
			return int(r-rune(row.Lo)) % 10
		}
	}
	return 0
}

// numberedPage matches keys that explicitly number a page. barePageNumber also matches keys that only look like page
// numbers.
var (
	numberedPage   = lazyregexp.New(`^(?:page|seite|página|pagina|sida|strona|страница|第) ?# ?(?:页|頁|ページ)?(?:(?:of|/|von|de|di|av|z|из|共) ?#(?: ?页)?)?$`) //nolint:gosmopolitan // pages are numbered in every script
	barePageNumber = lazyregexp.New(numberedPage.String() + `|^# ?/ ?#$|^[-–—] ?# ?[-–—]$`)
)

// saysSomething reports whether a key has words other than those of page numbers, such as "A-#" or "Page #".
func saysSomething(key string) bool {
	if barePageNumber.MatchString(key) {
		return false
	}
	letters := 0
	for _, r := range strings.NewReplacer("page", "", "of", "").Replace(key) {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}
