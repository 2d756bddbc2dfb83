package notes

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/extract/compose"
)

// texSilent are commands whose arguments are not text.
var texSilent = []string{"label", "vspace", "hspace", "usepackage", "documentclass", "includegraphics", "input", "include", "bibliography",
	"bibliographystyle", "pagestyle", "thispagestyle", "setlength", "addtolength", "setcounter", "newcommand", "renewcommand", "definecolor",
	"color", "index", "nocite", "pagenumbering", "hypersetup", "graphicspath", "title", "author", "date", "addbibresource", "fontsize",
	"addcontentsline", "captionsetup", "phantomsection", "geometry", "providecommand", "newtheorem", "theoremstyle", "markboth"}

// texTwo are commands of two arguments. The second one is text.
var texTwo = []string{"href", "textcolor", "colorbox", "hyperref", "parbox", "resizebox", "scalebox", "raisebox", "rule"}

// texSymbols maps commands to the text that they produce.
var texSymbols = map[string]string{"ldots": "…", "dots": "…", "textellipsis": "…", "LaTeX": "LaTeX", "TeX": "TeX", "ss": "ß", "ae": "æ", "AE": "Æ",
	"oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "i": "i", "j": "j", "S": "§", "P": "¶", "dag": "†",
	"copyright": "©", "pounds": "£", "euro": "€", "texteuro": "€", "textdegree": "°", "degree": "°", "textbackslash": `\`, "textasciitilde": "~",
	"textendash": "–", "textemdash": "—", "newline": " ", "par": " ", "quad": " ", "qquad": " ", "textregistered": "®", "texttrademark": "™"}

// texAccents are commands that put an accent on the next letter.
var texAccents = map[string]rune{"'": '\u0301', "`": '\u0300', "^": '\u0302', `"`: '\u0308', "~": '\u0303', "=": '\u0304', ".": '\u0307',
	"c": '\u0327', "v": '\u030c', "u": '\u0306', "H": '\u030b', "k": '\u0328', "r": '\u030a', "d": '\u0323'}

// texPunctuation replaces punctuation that TeX writes in another way.
var texPunctuation = strings.NewReplacer("---", "—", "--", "–", "``", "“", "''", "”", "~", " ")

// plain returns running text without commands. Mathematics between dollars stays as it is.
func (t *texReader) plain(text string, depth int) string {
	if depth > maxNested {
		return text
	}
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, `\${}`)
		if at < 0 {
			at = len(text)
		}
		b.WriteString(texPunctuation.Replace(text[:at]))
		if text = text[at:]; text == "" {
			break
		}
		switch text[0] {
		case '$':
			formula, rest, found := strings.Cut(text[1:], "$")
			if !found {
				return norm.NFC.String(b.String() + text)
			}
			b.WriteString("$" + formula + "$")
			text = rest
		case '\\':
			text = t.command(&b, text[1:], depth)
		default:
			text = text[1:]
		}
	}
	return norm.NFC.String(b.String()) // a letter and its accent may have stood apart
}

// command writes the text that a command produces. text begins after the backslash; command returns the rest of it after
// the command.
func (t *texReader) command(b *strings.Builder, text string, depth int) string {
	name := text[:len(text)-len(strings.TrimLeftFunc(text, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }))]
	if name == "" {
		_, size := utf8.DecodeRuneInString(text)
		name = text[:size]
	}
	rest := strings.TrimPrefix(text[len(name):], "*")
	if name == "" {
		return rest
	}
	if accent, ok := texAccents[name]; ok && (len(name) == 1 && !unicode.IsLetter(rune(name[0])) || strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, " ")) {
		return accented(b, rest, accent)
	}
	if symbol, ok := texSymbols[name]; ok {
		b.WriteString(symbol)
		return strings.TrimLeft(strings.TrimPrefix(rest, "{}"), " ")
	}
	switch {
	case strings.Contains("%&#_{}$", name):
		b.WriteString(name)
		return rest
	case name == "(":
		formula, after, _ := strings.Cut(rest, `\)`)
		b.WriteString("$" + formula + "$")
		return after
	case !unicode.IsLetter(rune(name[0])):
		b.WriteByte(' ') // line breaks and spaces
		return rest
	case name == "verb":
		return verbatim(b, rest)
	}
	return t.arguments(b, name, rest, depth)
}

// arguments writes the text of the arguments of a command, and returns the rest after them.
func (t *texReader) arguments(b *strings.Builder, name, rest string, depth int) string {
	_, rest = texOption(rest)
	if !strings.HasPrefix(rest, "{") {
		if slices.Contains(texSilent, name) {
			return rest
		}
		return strings.TrimPrefix(rest, " ")
	}
	group, after := texGroup(rest)
	switch {
	case slices.Contains(texSilent, name):
		for strings.HasPrefix(after, "{") || strings.HasPrefix(after, "[") {
			if _, behind := texOption(after); behind != after {
				after = behind
				continue
			}
			_, behind := texGroup(after)
			if behind == after {
				break
			}
			after = behind
		}
		return after
	case strings.HasPrefix(name, "cite") || strings.HasSuffix(name, "cite") || strings.HasSuffix(name, "ref") && name != "href" && name != "hyperref":
		b.WriteString("[" + group + "]")
	case name == "footnote" || name == "thanks":
		b.WriteString(" (" + t.plain(group, depth+1) + ")")
	case name == "textsuperscript":
		b.WriteString(compose.Superscript(t.plain(group, depth+1)))
	case name == "textsubscript":
		b.WriteString(compose.Subscript(t.plain(group, depth+1)))
	case name == "url" || name == "path":
		b.WriteString(group)
	case name == "SI" || name == "qty":
		unit, behind := texGroup(after)
		b.WriteString(group + " " + strings.ReplaceAll(unit, `\`, ""))
		return behind
	case slices.Contains(texTwo, name) && strings.HasPrefix(after, "{"):
		second, behind := texGroup(after)
		b.WriteString(t.plain(second, depth+1))
		return behind
	default:
		b.WriteString(t.plain(group, depth+1))
	}
	return after
}

// accented writes the next letter with an accent.
func accented(b *strings.Builder, text string, accent rune) string {
	letter, rest := texGroup(text)
	if letter == "" {
		text = strings.TrimLeft(text, " ")
		_, size := utf8.DecodeRuneInString(text)
		letter, rest = text[:size], text[size:]
	}
	if letter = strings.TrimPrefix(letter, `\`); letter != "" {
		b.WriteString(letter + string(accent))
	}
	return rest
}

// verbatim writes code between two characters of any kind.
func verbatim(b *strings.Builder, text string) string {
	if text == "" {
		return text
	}
	_, size := utf8.DecodeRuneInString(text)
	code, rest, _ := strings.Cut(text[size:], text[:size])
	b.WriteString(code)
	return rest
}
