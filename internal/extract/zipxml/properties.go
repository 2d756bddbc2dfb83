package zipxml

import (
	"encoding/xml"

	"parley/internal/attribute"
	"parley/internal/extract/compose"
)

// Keywords is the attribute whose text is a list.
const Keywords = "keywords"

// Properties reads the part of a document that describes it. names maps the elements to read to attributes. Of each
// attribute other than Keywords, the first element counts. Of a broken part, it returns what could be read.
func Properties(archive *Archive, part string, names map[string]string) (title string, v attribute.Values) {
	v = attribute.Values{}
	_ = EachElement(archive, part, func(d *xml.Decoder, e xml.StartElement) error {
		name, known := names[e.Name.Local]
		if !known && (e.Name.Local != "title" || title != "") {
			return nil
		}
		text := ""
		if err := d.DecodeElement(&text, &e); err != nil {
			return err
		}
		Describe(v, name, text)
		if !known {
			title = text
		}
		return nil
	})
	return compose.SensibleTitle(title), v
}

// Describe adds the text of an element to the attribute called name; "" means none.
func Describe(v attribute.Values, name, text string) {
	text = compose.OneLine(compose.Clean(text))
	switch {
	case name == Keywords:
		v.AddAll(name, text)
	case name != "" && v[name] == nil:
		v.Add(name, text)
	}
}
