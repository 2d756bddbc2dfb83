package ooxml

import (
	"encoding/xml"
	"strconv"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// docxNumbering gives the items of lists, and numbered headings, what they start with (ECMA-376 part 1,
// section 17.9).
type docxNumbering struct {
	lists    map[string]docxList     // by list id
	levels   map[string][9]docxLevel // by abstract list id
	counters map[string]*[9]int      // of the items so far, by abstract list id: lists of the same one go on
	begun    map[string]bool         // list ids with an item
}

// docxList is a list: which abstract list it is one of, and where its levels start anew.
type docxList struct {
	abstract string
	starts   map[int]int
}

// docxLevel is how a level of a list looks.
type docxLevel struct {
	format string // "bullet", "decimal", "lowerLetter", …; "" if the level is not defined
	text   string // "%1.%2": the numbers of levels 1 and 2
	start  int
	legal  bool // all numbers are decimal
}

// bullet stands before items that have no number.
const bullet = "• "

func newDOCXNumbering() *docxNumbering {
	return &docxNumbering{map[string]docxList{}, map[string][9]docxLevel{}, map[string]*[9]int{}, map[string]bool{}}
}

func readDOCXNumbering(archive *zipxml.Archive) (*docxNumbering, error) {
	n := newDOCXNumbering()
	abstract, num, level := "", "", 0
	err := zipxml.EachElement(archive, "word/numbering.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		val := zipxml.Attr(e, "val")
		levels := n.levels[abstract]
		switch e.Name.Local {
		case "abstractNum":
			abstract, num = zipxml.Attr(e, "abstractNumId"), ""
			return nil
		case "num":
			num, abstract = zipxml.Attr(e, "numId"), ""
			return nil
		case "abstractNumId":
			n.lists[num] = docxList{val, map[int]int{}}
			return nil
		case "lvl", "lvlOverride":
			level = min(zipxml.SmallNumber(zipxml.Attr(e, "ilvl")), len(levels)-1)
			levels[level].start = 1
		case "startOverride":
			if list := n.lists[num]; list.starts != nil {
				list.starts[level] = number(val)
			}
		case "start":
			levels[level].start = number(val)
		case "numFmt":
			levels[level].format = val
		case "lvlText":
			levels[level].text = val
		case "isLgl":
			levels[level].legal = val != "0" && val != "false"
		}
		if abstract != "" {
			n.levels[abstract] = levels
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	return n, nil
}

// number returns the number that an attribute holds, 1 if it holds none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1_000_000 {
		return 1
	}
	return n
}

// marker returns what the next item of a list at a level starts with, with a space behind it: its number as
// the level writes it, else a bullet.
func (n *docxNumbering) marker(id string, at int) string {
	list := n.lists[id]
	levels := n.levels[list.abstract]
	at = min(at, len(levels)-1)
	level := levels[at]
	if level.format == "bullet" || level.format == "none" || level.format == "" {
		return bullet
	}
	counter := n.counters[list.abstract]
	if counter == nil {
		counter = &[9]int{}
		for i := range counter {
			counter[i] = levels[i].start - 1
		}
		n.counters[list.abstract] = counter
	}
	if !n.begun[id] {
		n.begun[id] = true
		for i, start := range list.starts {
			counter[i] = start - 1
		}
	}
	counter[at]++
	for i := at + 1; i < len(counter); i++ {
		counter[i] = levels[i].start - 1
	}
	return level.write(counter, levels, at)
}

// write fills the numbers of the levels into the text of a level.
func (l docxLevel) write(counter *[9]int, levels [9]docxLevel, at int) string {
	if l.text == "" {
		return compose.ListNumber(counter[at], l.format) + ". "
	}
	var b strings.Builder
	for i := 0; i < len(l.text); i++ {
		if l.text[i] != '%' || i+1 == len(l.text) || l.text[i+1] < '1' || l.text[i+1] > '9' {
			b.WriteByte(l.text[i])
			continue
		}
		i++
		of := int(l.text[i] - '1')
		format := levels[of].format
		if l.legal {
			format = "decimal"
		}
		n := counter[of]
		if of < at && n == levels[of].start-1 { // a level above that has no item yet
			n++
		}
		b.WriteString(compose.ListNumber(n, format))
	}
	return strings.TrimSpace(compose.Clean(b.String())) + " "
}
