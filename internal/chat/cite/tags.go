package cite

import (
	"regexp"
	"strings"
)

// rawTags are elements whose content is not text.
var rawTags = map[string]bool{
	"style": true, "script": true, "iframe": true, "noembed": true, "noframes": true, "noscript": true,
	"plaintext": true, "textarea": true, "template": true, "title": true, "xmp": true, "svg": true, "math": true,
}

var (
	// attribute is one attribute of a tag; together they are attributes.
	attribute  = regexp.MustCompile(`\s+([A-Za-z][\w:.-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>` + "`" + `]+)))?`)
	attributes = regexp.MustCompile(`^(?:` + attribute.String() + `)*\s*/?$`)
	// tagName is that of an element of HTML.
	tagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9:-]*$`)
	// hiddenAttribute is what an address between angle brackets has for who takes it for a tag: a slash
	// parts attributes.
	hiddenAttribute = regexp.MustCompile(`(?i)[/\s](?:style|on\w*)\s*=`)
)

// tag decides whether the tag with which in begins may be one: it must end on its line, within
// maxTagBytes, fetch nothing from another site and have text for its content. An angle bracket that
// begins no tag may stay.
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

// fetchesNothing judges what stands between the angle brackets of a tag.
func (f *filter) fetchesNothing(tag string) bool {
	name, rest := tag, ""
	if i := strings.IndexFunc(tag, func(r rune) bool { return r <= ' ' || r == '/' }); i >= 0 {
		name, rest = tag[:i], tag[i:]
	}
	switch {
	case rawTags[strings.ToLower(name)] || strings.Contains(name, `\`): // which is an escape in JSON
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
