package markup

import (
	"encoding/xml"
	"html"
	"maps"
	"strings"

	"parley/internal/lazyregexp"
)

// The bounds of entities that a document declares, so that a small document cannot become a large one.
const (
	maxEntities = 1000
	maxEntity   = 200 // bytes of the text of one
)

var (
	declaredEntity = lazyregexp.New(`<!ENTITY\s+([^\s%"'<>]+)\s+(?:"([^"]*)"|'([^']*)'|(?:SYSTEM|PUBLIC)\s)`)
	anyTag         = lazyregexp.New(`<[^>]*>`)
)

// knownEntities returns the entities of HTML and those that a document type declares, by name. In their texts, it expands only
// character references and entities of HTML. Entities that refer to files are empty.
func knownEntities(doctype string) map[string]string {
	declared := declaredEntity.FindAllStringSubmatch(doctype, maxEntities)
	if len(declared) == 0 {
		return xml.HTMLEntity
	}
	known := maps.Clone(xml.HTMLEntity)
	for _, d := range declared {
		text := html.UnescapeString(anyTag.ReplaceAllString(d[2]+d[3], " "))
		if len(text) > maxEntity {
			text = ""
		}
		known[d[1]] = strings.ToValidUTF8(text, "")
	}
	return known
}
