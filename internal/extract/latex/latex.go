// Package latex writes mathematics as LaTeX, as people write and search for it. It reads MathML (version 3) in web pages,
// books, scientific articles and OpenDocument files, and names the operators of other notations.
package latex

import (
	"encoding/xml"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/zipxml"
)

// Element is an element of MathML.
type Element struct {
	Name string // without its namespace
	Text string // its own
	Flat bool   // a fraction without a bar
	TeX  bool   // an annotation that holds the formula as its author wrote it in TeX
	Kids []Element
}

// The bounds of one formula. Anything beyond them is left out.
const (
	maxDepth    = 60
	maxElements = 20_000
)

// ReadMathML reads an element of MathML to its end, and returns its formula between dollar signs, or "" if it is empty.
func ReadMathML(d *xml.Decoder, start xml.StartElement) (string, error) {
	left := maxElements
	e, err := readElement(d, start, 0, &left)
	return e.Formula(), err
}

func readElement(d *xml.Decoder, start xml.StartElement, depth int, left *int) (Element, error) {
	e := NewElement(start.Name.Local, zipxml.Attr(start, "encoding"), zipxml.Attr(start, "linethickness"))
	if *left--; depth > maxDepth || *left < 0 {
		return Element{}, d.Skip()
	}
	for {
		token, err := d.Token()
		if err != nil {
			return e, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			kid, err := readElement(d, t, depth+1, left)
			if err != nil {
				return e, err
			}
			e.Kids = append(e.Kids, kid)
		case xml.CharData:
			e.Text += string(t)
		case xml.EndElement:
			return e, nil
		}
	}
}

// NewElement returns an element with the attributes that matter.
func NewElement(name, encoding, lineThickness string) Element {
	return Element{Name: name, Flat: strings.Trim(lineThickness, "0.emptx%") == "" && lineThickness != "", TeX: strings.Contains(strings.ToLower(encoding), "tex")}
}

// Formula returns the formula between dollar signs, or "" if it is empty. It prefers the author's own TeX if there is
// some.
func (e Element) Formula() string {
	formula := e.annotation(0)
	if formula == "" {
		formula = e.latex(0)
	}
	if formula = strings.Join(strings.Fields(formula), " "); formula == "" {
		return ""
	}
	return "$" + formula + "$"
}

// annotation returns the TeX of an annotation.
func (e Element) annotation(depth int) string {
	if e.Name == "annotation" && e.TeX {
		tex := strings.TrimSpace(e.Text)
		if inner, found := strings.CutPrefix(tex, `{\displaystyle`); found && strings.HasSuffix(inner, "}") { // MediaWiki's
			tex = strings.TrimSuffix(inner, "}")
		}
		return strings.Trim(tex, "$")
	}
	for _, kid := range e.Kids {
		if depth < maxDepth && !slices.Contains(scripted, e.Name) {
			if tex := kid.annotation(depth + 1); tex != "" {
				return tex
			}
		}
	}
	return ""
}

// scripted are the elements whose children are a base and the parts above or below it.
var scripted = []string{"msup", "msub", "msubsup", "munder", "mover", "munderover"}

// latex renders an element. Of an unknown element, it renders the content.
func (e Element) latex(depth int) string {
	if depth > maxDepth {
		return ""
	}
	kid := func(i int) string {
		if i >= len(e.Kids) {
			return ""
		}
		return strings.TrimSpace(e.Kids[i].latex(depth + 1))
	}
	switch e.Name {
	case "mi", "mn", "mo", "ms", "mtext", "ci", "cn":
		if name := strings.TrimSpace(e.Text); (e.Name == "mi" || e.Name == "mo") && slices.Contains(functions, name) {
			return `\` + name
		}
		return Symbols.Replace(strings.TrimSpace(e.Text))
	case "annotation", "annotation-xml", "mphantom", "none", "mprescripts", "maligngroup", "malignmark":
		return ""
	case "mspace":
		return " "
	case "mfrac":
		if e.Flat {
			return `\binom{` + kid(0) + "}{" + kid(1) + "}"
		}
		return `\frac{` + kid(0) + "}{" + kid(1) + "}"
	case "msqrt":
		return `\sqrt{` + e.all(depth) + "}"
	case "mroot":
		return `\sqrt[` + kid(1) + "]{" + kid(0) + "}"
	case "munder":
		if name := Accents[kid(1)]; strings.HasPrefix(name, `\under`) {
			return name + "{" + kid(0) + "}"
		}
		return base(kid(0)) + below(kid(1))
	case "msub":
		return base(kid(0)) + below(kid(1))
	case "mover":
		if name, known := Accents[kid(1)]; known {
			return accented(name, kid(0))
		}
		return base(kid(0)) + above(kid(1))
	case "msup":
		return base(kid(0)) + above(kid(1))
	case "msubsup", "munderover":
		return base(kid(0)) + below(kid(1)) + above(kid(2))
	case "mfenced":
		var parts []string
		for i := range e.Kids {
			parts = append(parts, kid(i))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case "mtable":
		return `\begin{matrix}` + e.list(` \\ `, depth) + `\end{matrix}`
	case "mtr", "mlabeledtr":
		return e.list(" & ", depth)
	}
	if len(e.Kids) == 0 && e.Name != "math" {
		return Symbols.Replace(strings.TrimSpace(e.Text))
	}
	return e.all(depth)
}

// functions are the names of functions for which LaTeX has commands.
var functions = []string{"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln", "exp",
	"lim", "max", "min", "sup", "inf", "det", "dim", "gcd", "arg", "Pr"}

// all renders the children in a row.
func (e Element) all(depth int) string {
	var parts []string
	for _, k := range e.Kids {
		parts = append(parts, k.latex(depth+1))
	}
	return row(parts)
}

// row joins parts. It puts a space between a command and a letter that follows it.
func row(parts []string) string {
	var b strings.Builder
	last := ""
	for _, part := range parts {
		if part == "" {
			continue
		}
		if first, _ := utf8.DecodeRuneInString(part); unicode.IsLetter(first) && endsInCommand(last) {
			b.WriteByte(' ')
		}
		b.WriteString(part)
		last = part
	}
	return b.String()
}

func endsInCommand(s string) bool {
	letters := strings.TrimRightFunc(s, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) })
	return len(letters) < len(s) && strings.HasSuffix(letters, `\`)
}

func (e Element) list(between string, depth int) string {
	var parts []string
	for _, k := range e.Kids {
		parts = append(parts, strings.TrimSpace(k.latex(depth+1)))
	}
	return strings.Join(parts, between)
}

// accented puts an accent on the part below it. A bar over several letters becomes a line.
func accented(name, below string) string {
	if name == `\bar` && utf8.RuneCountInString(below) > 1 && !strings.HasPrefix(below, `\`) {
		name = `\overline`
	}
	return name + "{" + below + "}"
}

// base returns the base of an index or exponent, in braces if it is more than one thing.
func base(s string) string {
	if strings.ContainsAny(s, "+-=/ ") && !strings.HasPrefix(s, `\`) && !strings.HasPrefix(s, "(") {
		return "{" + s + "}"
	}
	return s
}

func below(s string) string {
	if s == "" {
		return ""
	}
	return "_{" + s + "}"
}

func above(s string) string {
	if s == "" {
		return ""
	}
	return "^{" + s + "}"
}

// Accents are the commands for signs above an argument in braces; "" is the usual one.
var Accents = map[string]string{
	"": `\hat`, "\u0302": `\hat`, "^": `\hat`, "\u0303": `\tilde`, "~": `\tilde`, "\u0304": `\bar`, "\u0305": `\bar`, "¯": `\bar`, "‾": `\bar`, "\u0307": `\dot`,
	"˙": `\dot`, "\u0308": `\ddot`, "\u20d7": `\vec`, "→": `\vec`, `\to`: `\vec`, "\u030c": `\check`, "\u0301": `\acute`, "\u0300": `\grave`, "\u0306": `\breve`,
	"⏞": `\overbrace`, "⏟": `\underbrace`, "\u0332": `\underline`,
}

// Symbols writes operators as LaTeX names them. Letters and other signs stay: people look for them as they are.
var Symbols = strings.NewReplacer("∑", `\sum`, "∏", `\prod`, "∫", `\int`, "∮", `\oint`, "⋃", `\bigcup`, "⋂", `\bigcap`,
	"×", `\times `, "·", `\cdot `, "⋅", `\cdot `, "±", `\pm `, "≤", `\le `, "≥", `\ge `, "≠", `\ne `, "≈", `\approx `, "∞", `\infty `,
	"→", `\to `, "∂", `\partial `, "√", `\sqrt `, "−", "-", "{", `\{`, "}", `\}`, "\u2061", "", "\u2062", "", "\u2063", "", "\u2064", "", "\u00a0", " ")
