package odf

import (
	"encoding/xml"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// odfNumbering holds the number formats of the levels of a document's list styles (OpenDocument 1.3 part 3, section
// 16.31), by the name of the style. Levels without a format have bullets. Keys with the marks below hold other facts
// about styles.
type odfNumbering map[string]*odfLevels

// odfLevels are the levels of a list style, from 1.
type odfLevels [11]odfLevel

// odfLevel is the number format of a list level, and the number of levels that its numbers show.
type odfLevel struct {
	format, prefix, suffix string // without a format, its items have no numbers
	shown, start           int
}

// maxODFStyles is the maximum number of styles that are remembered.
const maxODFStyles = 10_000

// raisedStyle and loweredStyle, before the name of a text style, are keys that mark it as superscript or subscript. Names of list styles
// do not begin like that.
const (
	raisedStyle  = "\x00raised "
	loweredStyle = "\x00lowered "
)

// titleStyle is the style of a document's title, whatever the language of the program is.
const titleStyle = "Title"

// titleMark, before the name of a style, is a key that marks it as titleStyle or based on it.
const titleMark = "\x00title "

// isTitle reports whether paragraphs of a style are the document's title.
func (n odfNumbering) isTitle(style string) bool { return n[titleMark+style] != nil }

// signFonts are the fonts whose characters are signs. Documents number fonts of the same name.
var signFonts = []string{"Symbol", "Wingdings"}

// signMark, between such a font and the name of a style, is a key that says that the style has the font.
const signMark = "\x00signs "

// signs returns the sign font of a style, or "" for none.
func (n odfNumbering) signs(style string) string {
	for _, font := range signFonts {
		if n[font+signMark+style] != nil {
			return font
		}
	}
	return ""
}

// script returns the Script of the text of a style.
func (n odfNumbering) script(style string) compose.Script {
	switch {
	case n[raisedStyle+style] != nil:
		return compose.Raised
	case n[loweredStyle+style] != nil:
		return compose.Lowered
	}
	return compose.OnLine
}

// styles reads the styles in styles.xml.
func (n odfNumbering) styles(archive *zipxml.Archive) error {
	name := ""
	return zipxml.IgnoreSyntax(zipxml.EachElement(archive, "styles.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		name = n.element(name, e)
		return nil
	}))
}

// skip skips an element, but reads the styles in it.
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

// element reads an element of the styles inside the style of a name, and returns the name of the style that contains the
// next elements.
func (n odfNumbering) element(name string, e xml.StartElement) string {
	switch e.Name.Local {
	case "style":
		name = zipxml.Attr(e, "name")
		parent := zipxml.Attr(e, "parent-style-name")
		if len(n) < maxODFStyles && (name == titleStyle || parent == titleStyle || n.isTitle(parent)) {
			n[titleMark+name] = &odfLevels{}
		}
	case "text-properties":
		position := zipxml.Attr(e, "text-position")
		if len(n) < maxODFStyles && (strings.HasPrefix(position, "super") || position != "" && position[0] >= '1' && position[0] <= '9') {
			n[raisedStyle+name] = &odfLevels{}
		}
		if len(n) < maxODFStyles && (strings.HasPrefix(position, "sub") || strings.HasPrefix(position, "-")) {
			n[loweredStyle+name] = &odfLevels{}
		}
		for _, font := range signFonts {
			if len(n) < maxODFStyles && strings.TrimRight(zipxml.Attr(e, "font-name"), "0123456789") == font {
				n[font+signMark+name] = &odfLevels{}
			}
		}
	case "list-style":
		name = zipxml.Attr(e, "name")
		if len(n) < maxODFStyles {
			n[name] = &odfLevels{}
		}
	case "list-level-style-number":
		levels, level := n[name], zipxml.SmallNumber(zipxml.Attr(e, "level"))
		if levels != nil {
			levels[min(level, len(levels)-1)] = odfLevel{
				format: zipxml.Attr(e, "num-format"), prefix: zipxml.Attr(e, "num-prefix"), suffix: zipxml.Attr(e, "num-suffix"),
				shown: max(zipxml.SmallNumber(zipxml.Attr(e, "display-levels")), 1), start: max(zipxml.SmallNumber(zipxml.Attr(e, "start-value")), 1),
			}
		}
	}
	return name
}

// level returns the number format of a level, from 1, of the lists of a style.
func (n odfNumbering) level(style string, level int) odfLevel {
	levels := n[style]
	if levels == nil || level >= len(levels) {
		return odfLevel{}
	}
	return levels[level]
}

// marker returns the marker of the current item of the innermost list.
func (n odfNumbering) marker(lists []odfList) string {
	style, depth := lists[len(lists)-1].style, len(lists)
	level := n.level(style, depth)
	if level.format == "" {
		return "• "
	}
	var numbers []string
	for i := max(1, depth-level.shown+1); i <= depth; i++ {
		if at := n.level(style, i); at.format != "" {
			numbers = append(numbers, compose.ListNumber(max(lists[i-1].item, 1), at.format))
		}
	}
	suffix := level.suffix
	if suffix == "" && level.prefix == "" && len(numbers) == 1 {
		suffix = "."
	}
	return level.prefix + strings.Join(numbers, ".") + suffix + " "
}
