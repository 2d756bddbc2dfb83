package ooxml

import (
	"encoding/xml"
	"strconv"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// docxStyle holds the structural properties of a paragraph style.
type docxStyle struct {
	name    string // built-in styles have English names, whatever the language of the program is
	basedOn string
	outline int    // outline level from 1; 0 for none
	list    string // numbering id
	level   int    // of the list
	script  compose.Script
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
		case "vertAlign":
			style.script = vertical(zipxml.Attr(e, "val"))
		}
		styles[id] = style
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	return styles, nil
}

// resolve follows the chain of styles on which id is based, and returns the heading level (0 for none) and the list of
// the style's paragraphs.
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

// vertical returns the Script of a run with this vertAlign (ISO/IEC 29500-1, 22.9.2.17).
func vertical(align string) compose.Script {
	switch align {
	case "superscript":
		return compose.Raised
	case "subscript":
		return compose.Lowered
	}
	return compose.OnLine
}
