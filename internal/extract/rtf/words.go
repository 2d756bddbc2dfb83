package rtf

import (
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
)

// rtfEncoding is the code page of a font.
type rtfEncoding struct {
	page   encoding.Encoding
	symbol bool   // the font has its own signs, from U+F000 on
	signs  string // the name of such a font
}

func (e rtfEncoding) decode(b []byte) string {
	if e.symbol {
		var s strings.Builder
		for _, c := range b {
			s.WriteRune(0xf000 + rune(c))
		}
		return compose.FontText(e.signs, s.String())
	}
	if e.page == nil {
		e.page = charmap.Windows1252
	}
	return codepage.As(e.page, b)
}

// rtfEncodings are the code pages by number.
var rtfEncodings = map[int]rtfEncoding{
	437: {page: charmap.CodePage437}, 850: {page: charmap.CodePage850}, 852: {page: charmap.CodePage852},
	866: {page: charmap.CodePage866}, 874: {page: charmap.Windows874}, 932: {page: japanese.ShiftJIS},
	936: {page: simplifiedchinese.GBK}, 949: {page: korean.EUCKR}, 950: {page: traditionalchinese.Big5},
	1250: {page: charmap.Windows1250}, 1251: {page: charmap.Windows1251}, 1252: {page: charmap.Windows1252},
	1253: {page: charmap.Windows1253}, 1254: {page: charmap.Windows1254}, 1255: {page: charmap.Windows1255},
	1256: {page: charmap.Windows1256}, 1257: {page: charmap.Windows1257}, 1258: {page: charmap.Windows1258},
	10000: {page: charmap.Macintosh}, 10007: {page: charmap.MacintoshCyrillic}, 65001: {page: encoding.Nop},
}

const symbolCharset = 2

// rtfDestinations are the words that send the text of their group elsewhere.
var rtfDestinations = map[string]rtfDestination{
	"fonttbl": toFonts, "stylesheet": toStyles, "title": toTitle, "listtext": toMarker, "pntext": toMarker,
	"footnote": toNote, "annotation": toComment, "htmltag": toHTML, "moMath": toFormula, "moMathParaPr": toNowhere, "mmathPict": toNowhere, "shpinst": toText, "ud": toText, "shptxt": toText,
	"colortbl": toNowhere, "info": toNowhere, "pict": toNowhere, "objdata": toNowhere, "objclass": toNowhere,
	"header": toNowhere, "headerl": toNowhere, "headerr": toNowhere, "headerf": toNowhere,
	"footer": toNowhere, "footerl": toNowhere, "footerr": toNowhere, "footerf": toNowhere,
	"fldinst": toNowhere, "nonshppict": toNowhere, "sp": toNowhere, "upr": toReplaced, "filetbl": toNowhere,
	"listlevel": toNowhere, "listname": toNowhere, "leveltext": toNowhere, "levelnumbers": toNowhere,
	"pntxta": toNowhere, "pntxtb": toNowhere, "listtable": toNowhere, "listoverridetable": toNowhere, "revtbl": toNowhere, "rsidtbl": toNowhere,
	"xe": toNowhere, "tc": toNowhere, "rxe": toNowhere, "txe": toNowhere, "bkmkstart": toNowhere, "bkmkend": toNowhere,
	"themedata": toNowhere, "datastore": toNowhere, "private1": toNowhere, "template": toNowhere, "keycode": toNowhere,
	"ftnsep": toNowhere, "ftnsepc": toNowhere, "aftnsep": toNowhere, "aftnsepc": toNowhere, "background": toNowhere,
}

// rtfRunes maps words to the characters that they represent.
var rtfRunes = map[string]rune{
	"tab": '\t', "line": '\n', "lbr": '\n', "emdash": '—', "endash": '–', "emspace": ' ', "enspace": ' ', "qmspace": ' ',
	"lquote": '‘', "rquote": '’', "ldblquote": '“', "rdblquote": '”', "bullet": '•', "zwj": '\u200d', "zwnj": '\u200c',
}

// word handles a control word.
func (r *rtfReader) word(word string, n int, has bool) {
	starred := r.starred
	r.starred = false
	if to, ok := rtfDestinations[word]; ok {
		r.flush()
		switch {
		case r.state.to == toNowhere && word != "title", r.state.to == toReplaced && word != "ud":
			return
		}
		if to != r.state.to && (to == toNote || to == toComment) {
			r.text.startAside()
		}
		if to == toFormula && r.state.to != toFormula {
			r.state.element, r.state.depth = r.formula.begin(), 0
		}
		r.state.to = to
		return
	}
	if r.state.to == toFormula && r.element(word, n, has) {
		return
	}
	if c, ok := rtfRunes[word]; ok {
		r.rune(c)
		return
	}
	switch word {
	case "u":
		r.unicode(n)
		return
	case "bin":
		r.flush()
		if n > 0 {
			_, _ = r.src.Discard(n) // the next read returns the end of the file
		}
		return
	}
	if starred && word != "moMathPara" {
		r.flush()
		r.state.to = toNowhere
		return
	}
	r.property(word, n, has)
}

// unicode adds a character by its number, 16 bits with a sign, and makes the reader skip its replacement.
func (r *rtfReader) unicode(n int) {
	r.flush()
	c := rune(uint16(n))
	switch {
	case utf16.IsSurrogate(c) && c < 0xdc00:
		r.high = c
	case utf16.IsSurrogate(c):
		r.put(string(utf16.DecodeRune(r.high, c)))
	default:
		r.put(compose.SignText(r.fonts[r.state.font].signs, string(c)))
	}
	r.skip = r.state.uc
}

// property handles a word that changes how text is read or laid out. A number of 0 switches the property off.
func (r *rtfReader) property(word string, n int, has bool) {
	on := !has || n != 0
	switch word {
	case "uc":
		r.state.uc = min(max(n, 0), 10)
	case "ansicpg":
		if e, ok := rtfEncodings[n]; ok {
			r.normal = e
		}
	case "mac":
		r.normal = rtfEncodings[10000]
	case "pc":
		r.normal = rtfEncodings[437]
	case "pca":
		r.normal = rtfEncodings[850]
	case "f", "deff":
		r.state.font = n
	case "fcharset":
		if r.state.to == toFonts {
			r.fonts[r.state.font] = rtfEncoding{page: rtfEncodings[codepage.Charsets[n]].page, symbol: n == symbolCharset}
		}
	case "cpg":
		if r.state.to == toFonts {
			r.fonts[r.state.font] = rtfEncodings[n]
		}
	case "v", "deleted":
		r.flush()
		r.state.hidden = on
	case "plain":
		r.flush()
		r.state.hidden, r.state.script = false, compose.OnLine
	case "super", "sub", "nosupersub", "up", "dn":
		r.flush()
		r.state.script = compose.OnLine
		switch {
		case word == "super" && on, word == "up" && has && n > 0:
			r.state.script = compose.Raised
		case word == "sub" && on, word == "dn" && has && n > 0:
			r.state.script = compose.Lowered
		}
	case "fromhtml":
		r.fromHTML = true
	case "htmlrtf":
		r.flush()
		r.state.htmlRTF = on
	default:
		r.paragraph(word, n)
	}
}

// paragraph handles a word that ends a paragraph or gives it a property.
func (r *rtfReader) paragraph(word string, n int) {
	r.flush()
	switch {
	case r.state.to == toStyles:
		switch word {
		case "s":
			r.state.number = n
		case "outlinelevel":
			r.state.level = min(max(n, 0), 8) + 1
		}
		return
	case r.state.to == toNowhere, r.state.to == toReplaced, r.state.to == toMarker, r.state.to == toFormula:
		return // text with this destination has its own properties
	case r.fromHTML:
		if word == "par" && !r.state.htmlRTF {
			r.putHTML("\n")
		}
		return
	}
	switch word {
	case "par", "sect", "page", "column":
		r.text.endParagraph()
	case "pard":
		r.text.paragraph = rtfParagraph{}
	case "s":
		r.text.paragraph.style = n
	case "outlinelevel":
		r.text.paragraph.level = min(max(n, 0), 8) + 1
	case "intbl", "itap":
		r.text.paragraph.inTable = word == "intbl" || n > 0
	case "trhdr":
		r.text.markHeader()
	case "cell", "nestcell":
		r.text.endCell(word == "nestcell")
	case "row":
		r.text.endRow()
	}
}
