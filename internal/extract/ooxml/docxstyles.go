package ooxml

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// docxStyle is what a paragraph style says about structure.
type docxStyle struct {
	name    string // the built-in styles have English names whatever the language of the program
	basedOn string
	outline int    // outline level from 1; 0 for none
	list    string // numbering id
	level   int    // of the list
}

type docxStyles map[string]docxStyle

func readDOCXStyles(archive *zipxml.Archive) (docxStyles, error) {
	styles := docxStyles{}
	id := ""
	err := zipxml.EachElement(archive, "word/styles.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		style := styles[id]
		switch e.Name.Local {
		case "style":
			id = zipxml.Attr(e, "styleId")
			style = docxStyle{}
		case "name":
			style.name = strings.ToLower(zipxml.Attr(e, "val"))
		case "basedOn":
			style.basedOn = zipxml.Attr(e, "val")
		case "outlineLvl":
			style.outline = outlineLevel(zipxml.Attr(e, "val"))
		case "numId":
			style.list = zipxml.Attr(e, "val")
		case "ilvl":
			style.level = zipxml.SmallNumber(zipxml.Attr(e, "val"))
		}
		styles[id] = style
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	return styles, nil
}

// resolve follows the chain of styles that id is based on, and returns the heading level (0 for
// none) and the list that the paragraphs of the style belong to.
func (s docxStyles) resolve(id string) (heading int, list string, level int) {
	for range 10 { // longer chains are cycles
		style, known := s[id]
		if !known {
			return heading, list, level
		}
		if heading == 0 {
			if m := compose.HeadingName.FindStringSubmatch(style.name); m != nil {
				heading = int(m[1][0] - '0')
			} else if style.name == "title" {
				heading = 1
			} else if style.outline > 0 {
				heading = style.outline
			}
		}
		if list == "" {
			list, level = style.list, style.level
		}
		id = style.basedOn
	}
	return heading, list, level
}

// outlineLevel turns w:outlineLvl, whose 0 to 8 are headings and 9 is body text, into a level
// from 1, or 0.
func outlineLevel(val string) int {
	n, err := strconv.Atoi(val)
	if err != nil || n < 0 || n > 8 {
		return 0
	}
	return n + 1
}

// docxNumbering gives the items of lists their bullets and numbers.
type docxNumbering struct {
	abstract map[string]string    // list id → abstract list id
	formats  map[string][9]string // abstract list id → number format by level
	counters map[string]*[9]int   // by list id, of the items so far
}

func newDOCXNumbering() *docxNumbering {
	return &docxNumbering{map[string]string{}, map[string][9]string{}, map[string]*[9]int{}}
}

func readDOCXNumbering(archive *zipxml.Archive) (*docxNumbering, error) {
	n := newDOCXNumbering()
	abstract, num, level := "", "", 0
	err := zipxml.EachElement(archive, "word/numbering.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "abstractNum":
			abstract = zipxml.Attr(e, "abstractNumId")
		case "lvl":
			level = zipxml.SmallNumber(zipxml.Attr(e, "ilvl"))
		case "numFmt":
			formats := n.formats[abstract]
			formats[level] = zipxml.Attr(e, "val")
			n.formats[abstract] = formats
		case "num":
			num = zipxml.Attr(e, "numId")
			abstract = ""
		case "abstractNumId":
			n.abstract[num] = zipxml.Attr(e, "val")
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	return n, nil
}

// marker returns what the next item of a list at a level starts with: its number where the list
// counts, else a bullet. Formats other than decimal are shown as decimal.
func (n *docxNumbering) marker(list string, level int) string {
	format := n.formats[n.abstract[list]][level]
	if format == "bullet" || format == "none" || format == "" {
		return "• "
	}
	counter := n.counters[list]
	if counter == nil {
		counter = &[9]int{}
		n.counters[list] = counter
	}
	counter[level]++
	clear(counter[level+1:])
	return fmt.Sprintf("%d. ", counter[level])
}
