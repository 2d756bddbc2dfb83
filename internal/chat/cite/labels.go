package cite

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"parley/internal/chat/prompt"
)

// The limits of what is read between brackets.
const (
	maxLabelBytes  = 250
	maxNameParts   = 4  // that separators within the name of one document make
	maxPageRange   = 20 // pages of "#page=3-9" that are looked at
	maxUnsupported = 20
)

var (
	// citationLike matches labels that can only be meant as citations of documents.
	citationLike = regexp.MustCompile(`(?i)(?:#page=|[^\s.]\.(?:` + prompt.DocumentExts + `)$)`)
	// ownForm matches the form in which Parley writes citations of pages, and nothing else does.
	ownForm = regexp.MustCompile(`(?i)^[^"\[\]]*[^\s"\[\]]#page=\d+$`)
	// pageForm takes a page off a label, in the forms in which models write it: "#page=3",
	// "#3", ", p. 3", " (page 3-4)".
	pageForm = regexp.MustCompile(`(?i)^(.*?)[\s,(]*(?:#\s*(?:pages?|p\.?)?|\b(?:pages?|pp?\.?|seiten?|p[áa]g(?:ina)?s?\.?))[\s=:]*(\d{1,6})(?:\s*[-–—]\s*(\d{1,6}))?\s*\)?$`)
	// bareForm is a page in a list behind another page of the same document: "3", "p. 3".
	bareForm = regexp.MustCompile(`(?i)^#?\s*(?:pages?|pp?\.?)?[\s=:]*(\d{1,6})$`)
	// leadIn is what models write before a label.
	leadIn = regexp.MustCompile(`(?i)^(?:sources?|quellen?|citations?|cited|refs?|references?|see(?: also)?|siehe|vgl\.?|cf\.?|from)\s*:?\s+|^\w{1,12}:\s+`)
	// escaped is a character that Markdown would otherwise mean something by.
	escaped = regexp.MustCompile(`\\([\\_*\[\]()#.\-])`)
	// separator parts the labels in one pair of brackets.
	separator = regexp.MustCompile(`(?i)\s*[,;|]\s*(?:and\s+)?|\s+(?:and|und|&)\s+`)
)

// labels resolves what a model writes between brackets to the citations that the passages of the
// prompt allow. It is made for one answer and then only read.
type labels struct {
	exact Known
	loose map[string]string // a spelling made uniform → the label; "" where several labels share it
	odd   []string          // labels that hold brackets
	exts  map[string]bool   // endings of the documents' names, as ".pdf"
	most  int               // bytes of the longest label
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

// Spellings returns what reports whether an answer with that text between two brackets would be read as one that
// cites something: a label in known, however it is spelt, or a document that is not there. The function may be called
// concurrently.
func Spellings(known Known) func(inside string) bool {
	l := newLabels(known)
	return func(inside string) bool {
		found, invented := l.resolve(inside)
		return len(found)+len(invented) > 0
	}
}

// spell enters the spellings under which a label is found.
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
			l.enter(n, label) // of a document with one page among the passages
		}
	}
}

func (l *labels) enter(key, label string) {
	if have, ok := l.loose[key]; ok && have != label {
		label = ""
	}
	l.loose[key] = label
}

// nameKey returns a name as it is compared: without case, and with one space where names and
// models put spaces, dashes or underscores as they like.
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

// resolved returns the labels that the text between two brackets means, in order, and those parts
// of it that can only be meant as citations but are none that the passages allow. Neither means
// that it is no citation at all.
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
	last := "" // the name before a page that stands alone
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
		invented = []string{shorten(inside)} // how some services mark citations, and nothing else does
	}
	return slices.Compact(found), invented
}

// piece is a part of a text, in bytes.
type piece struct{ start, end int }

// cutLabels takes apart several labels in one pair of brackets, as some models write them.
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

// first resolves the label with which a list begins, and returns of how many parts it is made:
// names of documents may hold separators themselves.
func (l *labels) first(text string, parts []piece) (int, []string) {
	for n := min(len(parts), maxNameParts); n > 0; n-- {
		if labels := l.one(cleanLabel(text[parts[0].start:parts[n-1].end])); len(labels) > 0 {
			return n, labels
		}
	}
	return 1, l.within(text[parts[0].start:parts[0].end])
}

// one resolves a label that stands alone, which a range of pages makes several.
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
		out = l.look(nameKey(name) + "#0") // a page where the format has none
	}
	return out
}

func (l *labels) look(key string) []string {
	if label := l.loose[key]; label != "" {
		return []string{label}
	}
	return nil
}

// within finds the longest label that stands among other words.
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

// cutPage takes the page, or the range of pages, off a label; from is -1 where there is none.
func cutPage(label string) (name string, from, to int) {
	m := pageForm.FindStringSubmatch(label)
	if m == nil {
		return label, -1, -1
	}
	from, _ = strconv.Atoi(m[2]) // at most six digits
	to = from
	if m[3] != "" {
		to, _ = strconv.Atoi(m[3])
	}
	return m[1], from, to
}

// nameOf returns the name in a label, else the one that a page alone goes on with.
func nameOf(part, last string) string {
	if bareForm.MatchString(part) {
		return last
	}
	name, _, _ := cutPage(cleanLabel(part))
	return name
}

// cleanLabel takes off what models put around a label.
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

// shorten bounds what is kept of a label that a model made up.
func shorten(label string) string {
	label = strings.TrimSpace(prompt.OneLine(label))
	if len(label) > maxLabelBytes {
		label = strings.ToValidUTF8(label[:maxLabelBytes], "")
	}
	return label
}
