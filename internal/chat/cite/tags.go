package cite

import (
	"strings"

	"parley/internal/lazyregexp"
)

// rawTags are elements whose content renderers do not treat as ordinary text.
var rawTags = map[string]bool{
	"style": true, "script": true, "iframe": true, "noembed": true, "noframes": true, "noscript": true,
	"plaintext": true, "textarea": true, "template": true, "title": true, "xmp": true, "svg": true, "math": true,
}

var (
	// attribute matches one attribute of a tag, and attributes matches all of them.
	attribute  = lazyregexp.New(`\s+([A-Za-z][\w:.-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>` + "`" + `]+)))?`)
	attributes = lazyregexp.New(`^(?:` + attribute.String() + `)*\s*/?$`)
	// tagName matches the name of an HTML element.
	tagName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9:-]*$`)
	// hiddenAttribute matches an address between angle brackets that a renderer could take for a tag with an
	// attribute, since a slash separates attributes.
	hiddenAttribute = lazyregexp.New(`(?i)[/\s](?:style|on\w*)\s*=`)
)

// tag reports whether the tag with which in begins is safe: it ends on its line, within maxTagBytes,
// fetches nothing from another site, and has text as its content. An angle bracket that does not begin
// a tag is safe.
func (f *filter) tag(in string, final bool) (safe, ok bool) {
	if !isLetter(in[1]) {
		return true, true
	}
	tag := in[1:min(len(in), maxTagBytes)]
	end := strings.IndexAny(tag, ">\r\n")
	if end < 0 {
		return false, final || len(in) >= maxTagBytes
	}
	return tag[end] == '>' && f.fetchesNothing(tag[:end]), true
}

// fetchesNothing reports whether a tag, given without its angle brackets, fetches nothing from another site and
// has ordinary text as its content.
func (f *filter) fetchesNothing(tag string) bool {
	name, rest := tag, ""
	if i := strings.IndexFunc(tag, func(r rune) bool { return r <= ' ' || r == '/' }); i >= 0 {
		name, rest = tag[:i], tag[i:]
	}
	switch {
	case rawTags[strings.ToLower(name)] || strings.Contains(name, `\`): // a backslash is an escape in JSON
		return false
	case isWebScheme(name): // an address between angle brackets
		return !strings.ContainsAny(rest, " \"'<`") && !hiddenAttribute.MatchString(rest)
	case rest == "" || !strings.Contains(tag, "="): // there is no attribute, or none with a value
		return true
	case !tagName.MatchString(name) || !attributes.MatchString(rest):
		return false
	}
	for _, m := range attribute.FindAllStringSubmatch(rest, -1) {
		if strings.HasPrefix(strings.ToLower(m[1]), "on") || !f.stays(m[2]+m[3]+m[4]) {
			return false
		}
	}
	return true
}

func isWebScheme(name string) bool {
	return strings.EqualFold(name, "http:") || strings.EqualFold(name, "https:")
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
