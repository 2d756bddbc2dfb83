package odf

import (
	"encoding/xml"

	"parley/internal/extract/zipxml"
)

// odfNumbering says which levels of a document's list styles count (OpenDocument 1.3 part 3, section
// 16.31), by the style's name. The others have bullets.
type odfNumbering map[string]*odfLevels

// odfLevels are the levels of a list style, from 1, that count.
type odfLevels [11]bool

// maxODFStyles bounds the list styles that are remembered.
const maxODFStyles = 10_000

// styles reads what styles.xml says of lists.
func (n odfNumbering) styles(archive *zipxml.Archive) error {
	name := ""
	return zipxml.IgnoreSyntax(zipxml.EachElement(archive, "styles.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		name = n.element(name, e)
		return nil
	}))
}

// skip passes over an element, and keeps what it says of lists.
func (n odfNumbering) skip(d *xml.Decoder) error {
	name := ""
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			name = n.element(name, t)
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

// element takes an element of the styles, within the list style of a name, and returns the name of the
// style that the next ones are in.
func (n odfNumbering) element(name string, e xml.StartElement) string {
	switch e.Name.Local {
	case "list-style":
		name = zipxml.Attr(e, "name")
		if len(n) < maxODFStyles {
			n[name] = &odfLevels{}
		}
	case "list-level-style-number":
		levels, level := n[name], zipxml.SmallNumber(zipxml.Attr(e, "level"))
		if levels != nil {
			levels[level] = zipxml.Attr(e, "num-format") != ""
		}
	}
	return name
}

// counts reports whether the items of a list of a style count, at a level from 1.
func (n odfNumbering) counts(style string, level int) bool {
	levels := n[style]
	return levels != nil && level < len(levels) && levels[level]
}
