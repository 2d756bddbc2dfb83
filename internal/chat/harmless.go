package chat

import (
	"regexp"
	"strings"
)

// The limits of what is held back to see where it leads.
const (
	maxTargetBytes = 2048 // of a link or an image
	maxTagBytes    = 200  // of an HTML tag
)

// target is what stands in the parentheses of a link or an image.
type target struct {
	n   int // with the parentheses; 0 when it is none
	url string
}

// linkTarget reads the target with which in begins; ok is false when that takes more input. It
// knows the simple forms only, on one line; what it does not know is none.
func linkTarget(in string, final bool) (t target, ok bool) {
	depth := 0
	for i := range min(len(in), maxTargetBytes) {
		switch in[i] {
		case '\n':
			return t, true
		case '(':
			depth++
		case ')':
			if depth--; depth > 0 {
				continue
			}
			url, title, titled := strings.Cut(strings.TrimSpace(in[1:i]), " ")
			if title = strings.TrimSpace(title); titled && !strings.HasPrefix(title, `"`) && !strings.HasPrefix(title, "'") {
				return t, true
			}
			return target{i + 1, strings.Trim(url, "<>")}, true
		}
	}
	return t, final || len(in) >= maxTargetBytes
}

// isExternal reports whether an address, or the attributes of a tag, may lead away from the site
// that shows them. It errs on the side of true: entities and escapes count as hiding something.
func isExternal(address string) bool {
	return strings.ContainsAny(address, ":\\&\t") || strings.Contains(address, "//")
}

// image decides an exclamation mark. Before the bracket of an image it stays only if the image is
// on the site that shows it, or at an address that the model was given; without it the image is a
// link, which nothing fetches unasked.
func (v *verifier) image(in string, final bool) (n int, ok bool) {
	if len(in) == 1 && !final {
		return 0, false
	}
	if !strings.HasPrefix(in, "![") {
		v.emit("!")
		return 1, true
	}
	end, ok := v.closing(in[1:], "[", "]", final)
	if !ok {
		return 0, false
	}
	// Marks that could close the bracket elsewhere than it seems to leave nothing certain.
	if end < 0 || strings.ContainsAny(in[2:1+end], "\\`<\n") {
		return 1, true
	}
	rest := in[2+end:]
	switch {
	case rest == "" && !final:
		return 0, false
	case strings.HasPrefix(rest, "["): // defined elsewhere
		return 1, true
	case strings.HasPrefix(rest, "("):
		t, ok := linkTarget(rest, final)
		if !ok {
			return 0, false
		}
		if t.n == 0 || isExternal(t.url) && !v.given(t.url) {
			return 1, true
		}
	}
	v.emit("!")
	return 1, true
}

// rawTags are elements whose content is not text.
var rawTags = map[string]bool{
	"style": true, "script": true, "iframe": true, "noembed": true, "noframes": true, "noscript": true,
	"plaintext": true, "textarea": true, "template": true, "title": true, "xmp": true, "svg": true, "math": true,
}

// tag decides an angle bracket. HTML that may fetch something is shown as text, by a space behind
// the bracket: tags with attributes that lead elsewhere, unless the model was given them, and
// elements whose content is not text. A tag that does not end on its line or is too long counts as
// one of those.
func (v *verifier) tag(in string, final bool) (n int, ok bool) {
	if len(in) == 1 && !final {
		return 0, false
	}
	mark := "<"
	if len(in) > 1 && isLetter(in[1]) {
		end := strings.IndexAny(in[1:min(len(in), maxTagBytes)], "<>\n") + 1
		if end == 0 && len(in) < maxTagBytes && !final {
			return 0, false
		}
		if !v.isHarmless(in, end) {
			mark = "< "
		}
	}
	v.emit(mark)
	return 1, true
}

// attribute is one attribute of a tag; together they are attributes.
var (
	attribute  = regexp.MustCompile(`\s+([A-Za-z][\w:.-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>` + "`" + `]+)))?`)
	attributes = regexp.MustCompile(`^(?:` + attribute.String() + `)*\s*/?$`)
)

// isHarmless reports whether the tag with which in begins fetches nothing. It ends at end, or is
// no tag if another character stands there.
func (v *verifier) isHarmless(in string, end int) bool {
	whole, broken := end > 0 && in[end] == '>', end > 0 && in[end] == '\n'
	if end == 0 {
		end = min(len(in), maxTagBytes)
	}
	name, rest := in[1:end], ""
	if i := strings.IndexAny(name, " /\t"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	switch {
	case rawTags[strings.ToLower(name)] || broken:
		return false
	case rest == "":
		return true
	case whole && isWebScheme(name): // an address between angle brackets
		return !strings.ContainsAny(rest, " \t\"'")
	case !whole || !attributes.MatchString(rest):
		return false
	}
	for _, m := range attribute.FindAllStringSubmatch(rest, -1) {
		value := m[2] + m[3] + m[4]
		if strings.HasPrefix(strings.ToLower(m[1]), "on") || isExternal(value) && !v.given(value) {
			return false
		}
	}
	return true
}

func isWebScheme(name string) bool {
	return strings.EqualFold(name, "http:") || strings.EqualFold(name, "https:")
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
