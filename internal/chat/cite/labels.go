package cite

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"parley/internal/chat/prompt"
	"parley/internal/lazyregexp"
)

// Limits of the text between brackets.
const (
	maxLabelBytes  = 250
	maxNameParts   = 4  // into how many parts separators may divide one document name
	maxPageRange   = 20 // how many pages after the first are tried in a range such as "#page=3-9"
	maxUnsupported = 20 // unsupported citations that are reported, and as many invented ones
)

var (
	// citationLike matches labels that can only be meant as citations of documents.
	citationLike = lazyregexp.New(`(?i)(?:#page=|[^\s.]\.(?:` + prompt.DocumentExts + `)$)`)
	// ownForm matches the form in which Parley, and nothing else, writes citations of pages.
	ownForm = lazyregexp.New(`(?i)^[^"\[\]]*[^\s"\[\]]#page=\d+$`)
	// pageForm splits a label into name and page, in the forms in which models write pages: "#page=3",
	// "#3", ", p. 3", " (page 3-4)".
	pageForm = lazyregexp.New(`(?i)^(.*?)[\s,(]*(?:#\s*(?:pages?|p\.?)?|\b(?:pages?|pp?\.?|seiten?|p[áa]g(?:ina)?s?\.?))[\s=:]*(\d{1,6})(?:\s*[-–—]\s*(\d{1,6}))?\s*\)?$`)
	// bareForm matches a page without a name, "3" or "p. 3", after another page of the same document.
	bareForm = lazyregexp.New(`(?i)^#?\s*(?:pages?|pp?\.?)?[\s=:]*(\d{1,6})$`)
	// leadIn matches the words that models write before a label.
	leadIn = lazyregexp.New(`(?i)^(?:sources?|quellen?|citations?|cited|refs?|references?|see(?: also)?|siehe|vgl\.?|cf\.?|from)\s*:?\s+|^\w{1,12}:\s+`)
	// escaped matches an escaped Markdown character.
	escaped = lazyregexp.New(`\\([\\_*\[\]()#.\-])`)
	// separator matches what separates the labels in one pair of brackets.
	separator = lazyregexp.New(`(?i)\s*[,;|]\s*(?:and\s+)?|\s+(?:and|und|&)\s+`)
)

// labels resolves the text that a model writes between brackets to citations that the passages allow. It is
// built for one set of passages and does not change afterwards.
type labels struct {
	exact Known
	loose map[string]string // normalized spelling → label; "" if several labels share the spelling
	odd   []string          // labels that contain brackets
	exts  map[string]bool   // extensions of the document names, such as ".pdf"
	most  int               // length in bytes of the longest label
}

func newLabels(known Known) *labels {
	l := &labels{exact: known, loose: map[string]string{}, exts: map[string]bool{}}
	for label, c := range l.exact {
		l.most = max(l.most, len(label))
		if strings.ContainsAny(label, "[]") {
			l.odd = append(l.odd, label)
		}
		name := strings.TrimSuffix(label, "#page="+strconv.Itoa(c.Page))
		if ext := path.Ext(name); ext != "" {
			l.exts[strings.ToLower(ext)] = true
		}
		l.spell(label, c, name)
	}
	return l
}

// Spellings returns a function that reports whether a verifier would read "[" + inside + "]" as a
// citation: of a label in known, in any spelling, or of a document that does not exist. The function is
// safe for concurrent use.
func Spellings(known Known) func(inside string) bool {
	l := newLabels(known)
	return func(inside string) bool {
		found, invented := l.resolve(inside)
		return len(found)+len(invented) > 0
	}
}

// spell adds the spellings under which a label is found.
func (l *labels) spell(label string, c Citation, name string) {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	names := map[string]bool{}
	for _, n := range []string{name, base, stem, c.Title, c.URL} {
		if n != "" {
			names[nameKey(n)] = true
		}
	}
	page := strconv.Itoa(c.Page)
	for n := range names {
		l.enter(n+"#"+page, label)
		if path.Ext(n) != "" {
			l.enter(n, label) // without a page; resolves if only one page of the document is among the passages
		}
	}
}

func (l *labels) enter(key, label string) {
	if have, ok := l.loose[key]; ok && have != label {
		label = ""
	}
	l.loose[key] = label
}

// nameKey normalizes a name for comparison: it ignores case, and replaces each run of spaces, dashes and
// underscores, which names and models use interchangeably, with one space.
func nameKey(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range prompt.Visible(name) {
		if r == '_' || r == '-' || unicode.IsSpace(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// resolve returns the labels that the text between two brackets refers to, in order, and the parts of
// the text that can only be meant as citations but that the passages do not allow. If both are empty,
// the text is not a citation.
func (l *labels) resolve(inside string) (found, invented []string) {
	if _, ok := l.exact[inside]; ok {
		return []string{inside}, nil
	}
	if strings.Contains(inside, `"`) {
		return nil, nil // a list of strings, as in JSON
	}
	text := cleanLabel(inside)
	if found = l.one(text); len(found) > 0 {
		return found, nil
	}
	last := "" // the name that a page without a name belongs to
	for parts := cutLabels(text); len(parts) > 0; {
		n, labels := l.first(text, parts)
		part := text[parts[0].start:parts[n-1].end]
		if len(labels) == 0 && last != "" {
			if m := bareForm.FindStringSubmatch(part); m != nil {
				labels = l.one(last + "#page=" + m[1])
			}
		}
		switch {
		case len(labels) > 0:
			found = append(found, labels...)
			last = nameOf(part, last)
		case l.likely(part):
			invented = append(invented, shorten(part))
			last = nameOf(part, "")
		}
		parts = parts[n:]
	}
	if len(found)+len(invented) == 0 && strings.Contains(inside, "†") {
		invented = []string{shorten(inside)} // only some services' citations look like this
	}
	return slices.Compact(found), invented
}

// piece is a part of a text, as byte offsets.
type piece struct{ start, end int }

// cutLabels splits the list of labels that some models write in one pair of brackets.
func cutLabels(text string) []piece {
	var parts []piece
	from := 0
	for _, sep := range separator.FindAllStringIndex(text, 2*maxUnsupported) {
		if sep[0] > from {
			parts = append(parts, piece{from, sep[0]})
		}
		from = sep[1]
	}
	if from < len(text) {
		parts = append(parts, piece{from, len(text)})
	}
	return parts
}

// first resolves the first label of a list. It returns the number of parts that form the label, which may be
// several because document names may contain separators.
func (l *labels) first(text string, parts []piece) (int, []string) {
	for n := min(len(parts), maxNameParts); n > 0; n-- {
		if labels := l.one(cleanLabel(text[parts[0].start:parts[n-1].end])); len(labels) > 0 {
			return n, labels
		}
	}
	return 1, l.within(text[parts[0].start:parts[0].end])
}

// one resolves a single label. For a range of pages, it returns a label for each page that may be cited.
func (l *labels) one(text string) []string {
	if _, ok := l.exact[text]; ok {
		return []string{text}
	}
	name, from, to := cutPage(text)
	if from < 0 {
		return l.look(nameKey(text))
	}
	var out []string
	for page := from; page <= min(to, from+maxPageRange); page++ {
		out = append(out, l.look(nameKey(name)+"#"+strconv.Itoa(page))...)
	}
	if len(out) == 0 {
		out = l.look(nameKey(name) + "#0") // the label has a page, but the format has none
	}
	return out
}

func (l *labels) look(key string) []string {
	if label := l.loose[key]; label != "" {
		return []string{label}
	}
	return nil
}

// within returns the longest label that a part contains among other words. It ignores case.
func (l *labels) within(part string) []string {
	best, lower := "", strings.ToLower(part)
	for label := range l.exact {
		i := strings.Index(lower, strings.ToLower(label))
		if i < 0 || len(label) < len(best) || !strings.Contains(label, ".") && !strings.Contains(label, "#") {
			continue
		}
		before, after := lower[:i], lower[i+len(label):]
		if endsInWord(before) || beginsWithWord(after) {
			continue
		}
		if len(label) > len(best) || label < best {
			best = label
		}
	}
	if best == "" {
		return nil
	}
	return []string{best}
}

func endsInWord(s string) bool {
	return s != "" && !strings.ContainsRune(" (:,;", rune(s[len(s)-1]))
}

func beginsWithWord(s string) bool {
	return s != "" && !strings.ContainsRune(" ):,;", rune(s[0]))
}

// likely reports whether a part can only be meant as the citation of a document.
func (l *labels) likely(part string) bool {
	if citationLike.MatchString(part) {
		return true
	}
	name, page, _ := cutPage(part)
	if page < 0 {
		name = part
	}
	ext := strings.ToLower(path.Ext(name))
	return len(ext) > 1 && len(ext) < len(name) && (l.exts[ext] || page >= 0 && citationLike.MatchString(name))
}

// cutPage splits a label into its name and its page or range of pages; from is -1 if there is none.
func cutPage(label string) (name string, from, to int) {
	m := pageForm.FindStringSubmatch(label)
	if m == nil {
		return label, -1, -1
	}
	from, _ = strconv.Atoi(m[2]) // the expression allows at most six digits
	to = from
	if m[3] != "" {
		to, _ = strconv.Atoi(m[3])
	}
	return m[1], from, to
}

// nameOf returns the name in a label, or last if the label is a page without a name.
func nameOf(part, last string) string {
	if bareForm.MatchString(part) {
		return last
	}
	name, _, _ := cutPage(cleanLabel(part))
	return name
}

// cleanLabel removes the decoration that models put around a label.
func cleanLabel(s string) string {
	if i := strings.LastIndex(s, "†"); i >= 0 {
		s = s[i+len("†"):]
	}
	s = strings.TrimSpace(leadIn.ReplaceAllString(strings.TrimSpace(prompt.OneLine(s)), ""))
	s = strings.Trim(s, "`*'“”‘’\\ ")
	s = escaped.ReplaceAllString(s, "$1")
	if strings.Contains(s, "%") {
		if plain, err := url.PathUnescape(s); err == nil {
			s = plain
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

// shorten limits the length of a label that a model made up to maxLabelBytes.
func shorten(label string) string {
	label = strings.TrimSpace(prompt.OneLine(label))
	if len(label) > maxLabelBytes {
		label = strings.ToValidUTF8(label[:maxLabelBytes], "")
	}
	return label
}
