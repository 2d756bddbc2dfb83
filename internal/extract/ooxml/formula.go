package ooxml

import (
	"encoding/xml"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/latex"
	"parley/internal/extract/zipxml"
)

// formula is an element of Office's mathematics (ECMA-376 part 1, section 22.1).
type formula struct {
	name string
	val  string // its attribute val
	text string // of a t element
	kids []formula
}

// The bounds of one formula.
const (
	formulaDepth    = 60
	formulaElements = 20_000
)

// readFormula reads an oMath element, and returns it as LaTeX between dollar signs.
func readFormula(d *xml.Decoder, start xml.StartElement) (string, error) {
	left := formulaElements
	f, err := parseFormula(d, start, 0, &left)
	if err != nil {
		return "", err
	}
	text := strings.Join(strings.Fields(f.latex()), " ")
	if text == "" {
		return "", nil
	}
	return "$" + text + "$", nil
}

func parseFormula(d *xml.Decoder, start xml.StartElement, depth int, left *int) (formula, error) {
	f := formula{name: start.Name.Local, val: zipxml.Attr(start, "val")}
	if *left--; depth > formulaDepth || *left < 0 {
		return f, extract.Damagedf("a formula of the document is nested too deeply or too long")
	}
	for {
		token, err := d.Token()
		if err != nil {
			return f, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "Fallback" || t.Name.Local == "del" && !isFormula(t.Name) {
				if err := d.Skip(); err != nil {
					return f, err
				}
				continue
			}
			kid, err := parseFormula(d, t, depth+1, left)
			if err != nil {
				return f, err
			}
			f.kids = append(f.kids, kid)
		case xml.CharData:
			if f.name == "t" {
				f.text += string(t)
			}
		case xml.EndElement:
			return f, nil
		}
	}
}

// kid returns the first child of a name, an empty one if there is none.
func (f formula) kid(name string) formula {
	for _, k := range f.kids {
		if k.name == name {
			return k
		}
	}
	return formula{}
}

// property returns a property of the element, and whether it is there.
func (f formula) property(name string) (string, bool) {
	k := f.kid(f.name + "Pr").kid(name)
	return k.val, k.name != ""
}

// all is the LaTeX of all children.
func (f formula) all() string {
	var b strings.Builder
	for _, k := range f.kids {
		b.WriteString(k.latex())
	}
	return b.String()
}

// group is the LaTeX of a child of a name between braces.
func (f formula) group(name string) string { return "{" + strings.TrimSpace(f.kid(name).all()) + "}" }

// latex renders an element. What is not known is rendered as what is in it.
func (f formula) latex() string {
	switch f.name {
	case "t":
		return latex.Symbols.Replace(f.text)
	case "f":
		switch kind, _ := f.property("type"); kind {
		case "lin", "skw":
			return f.group("num") + "/" + f.group("den")
		case "noBar":
			return `\binom` + f.group("num") + f.group("den")
		}
		return `\frac` + f.group("num") + f.group("den")
	case "sSup", "sSub", "sSubSup":
		return f.scripts(f.kid("e").all())
	case "sPre":
		return f.scripts("{}") + f.kid("e").all()
	case "rad":
		if deg := f.kid("deg").all(); deg != "" {
			return `\sqrt[` + deg + "]" + f.group("e")
		}
		return `\sqrt` + f.group("e")
	case "nary":
		return f.scripts(f.operator()) + " " + f.group("e")
	case "d":
		return f.brackets()
	case "func":
		return strings.TrimSpace(f.kid("fName").all()) + " " + f.group("e")
	case "limLow":
		return f.kid("e").all() + "_" + f.group("lim")
	case "limUpp":
		return f.kid("e").all() + "^" + f.group("lim")
	case "acc":
		return f.accent()
	case "bar":
		if pos, _ := f.property("pos"); pos == "top" {
			return `\overline` + f.group("e")
		}
		return `\underline` + f.group("e")
	case "m":
		return `\begin{matrix}` + f.rows("mr") + `\end{matrix}`
	case "eqArr":
		return f.rows("e")
	case "ctrlPr", "rPr", "argPr", "oMathParaPr":
		return ""
	}
	return f.all()
}

// scripts puts an index and an exponent behind a base, where there are any.
func (f formula) scripts(base string) string {
	base = strings.TrimSpace(base)
	if sub := strings.TrimSpace(f.kid("sub").all()); sub != "" {
		base += "_{" + sub + "}"
	}
	if sup := strings.TrimSpace(f.kid("sup").all()); sup != "" {
		base += "^{" + sup + "}"
	}
	return base
}

func (f formula) operator() string {
	chr, found := f.property("chr")
	if !found {
		return `\int`
	}
	return latex.Symbols.Replace(chr)
}

func (f formula) brackets() string {
	between := func(property, usual string) string {
		if val, found := f.property(property); found {
			return latex.Symbols.Replace(val)
		}
		return usual
	}
	var parts []string
	for _, k := range f.kids {
		if k.name == "e" {
			parts = append(parts, k.all())
		}
	}
	return between("begChr", "(") + strings.Join(parts, between("sepChr", "|")) + between("endChr", ")")
}

func (f formula) accent() string {
	chr, _ := f.property("chr")
	if name, known := latex.Accents[chr]; known {
		return name + f.group("e")
	}
	return f.kid("e").all() + chr
}

// rows renders the rows of a matrix, or of equations one below the other.
func (f formula) rows(name string) string {
	var rows []string
	for _, k := range f.kids {
		if k.name != name {
			continue
		}
		var cells []string
		for _, cell := range k.kids {
			if cell.name == "e" {
				cells = append(cells, strings.TrimSpace(cell.all()))
			}
		}
		if name == "e" {
			cells = []string{strings.ReplaceAll(strings.TrimSpace(k.all()), "&", "")}
		}
		rows = append(rows, strings.Join(cells, " & "))
	}
	return strings.Join(rows, ` \\ `)
}
