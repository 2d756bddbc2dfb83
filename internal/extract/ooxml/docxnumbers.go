package ooxml

import (
	"encoding/xml"
	"strconv"

	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// readDOCXNumbering reads the numbering of lists (ECMA-376 part 1, section 17.9).
func readDOCXNumbering(archive *zipxml.Archive) (*compose.Numbering, error) {
	n := compose.NewNumbering()
	abstract, num, level := "", "", 0
	err := zipxml.EachElement(archive, "word/numbering.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		val := zipxml.Attr(e, "val")
		levels := n.Levels[abstract]
		switch e.Name.Local {
		case "abstractNum":
			abstract, num = zipxml.Attr(e, "abstractNumId"), ""
			return nil
		case "num":
			num, abstract = zipxml.Attr(e, "numId"), ""
			return nil
		case "abstractNumId":
			n.Lists[num] = compose.NumberedList{Abstract: val, Starts: map[int]int{}}
			return nil
		case "lvl", "lvlOverride":
			level = min(zipxml.SmallNumber(zipxml.Attr(e, "ilvl")), len(levels)-1)
			levels[level].Start = 1
		case "startOverride":
			if list := n.Lists[num]; list.Starts != nil {
				list.Starts[level] = number(val)
			}
		case "start":
			levels[level].Start = number(val)
		case "numFmt":
			levels[level].Format = val
		case "lvlText":
			levels[level].Text = val
		case "isLgl":
			levels[level].Legal = val != "0" && val != "false"
		}
		if abstract != "" {
			n.Levels[abstract] = levels
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	return n, nil
}

// number returns the number in an attribute, or 1 if there is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1_000_000 {
		return 1
	}
	return n
}
