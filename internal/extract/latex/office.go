package latex

import (
	"encoding/xml"
	"slices"
	"strings"
	"unicode"

	"parley/internal/extract"
	"parley/internal/extract/zipxml"
)

// Office is an element of Office's mathematics (ECMA-376 part 1, section 22.1), as XML or RTF hold it.
type Office struct {
	Name string
	Val  string // its attribute val
	Text string // of a t or r element
	Kids []*Office
}

// Add adds an element, and returns it.
func (f *Office) Add(name string) *Office {
	kid := &Office{Name: name}
	f.Kids = append(f.Kids, kid)
	return kid
}

// ReadOffice reads an oMath element, and returns its formula between dollar signs. It leaves out the elements for which
// isDeleted returns true.
func ReadOffice(d *xml.Decoder, start xml.StartElement, isDeleted func(xml.Name) bool) (string, error) {
	left := maxElements
	f, err := parseOffice(d, start, isDeleted, 0, &left)
	if err != nil {
		return "", err
	}
	return f.Formula(), nil
}

// Formula returns the formula between dollar signs, or "" if it is empty.
func (f *Office) Formula() string {
	text := strings.Join(strings.Fields(f.latex()), " ")
	if text == "" {
		return ""
	}
	return "$" + text + "$"
}

func parseOffice(d *xml.Decoder, start xml.StartElement, isDeleted func(xml.Name) bool, depth int, left *int) (*Office, error) {
	f := &Office{Name: start.Name.Local, Val: zipxml.Attr(start, "val")}
	if *left--; depth > maxDepth || *left < 0 {
		return f, extract.Damagedf("a formula of the document is nested too deeply or too long")
	}
	for {
		token, err := d.Token()
		if err != nil {
			return f, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if isDeleted(t.Name) {
				if err := d.Skip(); err != nil {
					return f, err
				}
				continue
			}
			kid, err := parseOffice(d, t, isDeleted, depth+1, left)
			if err != nil {
				return f, err
			}
			f.Kids = append(f.Kids, kid)
		case xml.CharData:
			if f.Name == "t" {
				f.Text += string(t)
			}
		case xml.EndElement:
			return f, nil
		}
	}
}

// kid returns the first child of a name, or an empty one if there is none.
func (f *Office) kid(name string) *Office {
	for _, k := range f.Kids {
		if k.Name == name {
			return k
		}
	}
	return &Office{}
}

// property returns a property of the element, and whether it is there.
func (f *Office) property(name string) (string, bool) {
	k := f.kid(f.Name + "Pr").kid(name)
	return k.Val, k.Name != ""
}

// all returns the LaTeX of all children.
func (f *Office) all() string {
	var parts []string
	for _, k := range f.Kids {
		parts = append(parts, k.latex())
	}
	return row(parts)
}

// group returns the LaTeX of the child of a name, between braces.
func (f *Office) group(name string) string { return "{" + strings.TrimSpace(f.kid(name).all()) + "}" }

// latex renders an element. Of an unknown element, it renders the content.
func (f *Office) latex() string {
	switch f.Name {
	case "t":
		return Symbols.Replace(f.Text)
	case "r":
		return f.run()
	case "f":
		switch kind, _ := f.property("type"); kind {
		case "lin", "skw":
			return f.group("num") + "/" + f.group("den")
		case "noBar":
			return `\binom` + f.group("num") + f.group("den")
		}
		return `\frac` + f.group("num") + f.group("den")
	case "sSup", "sSub", "sSubSup":
		return f.scripts(base(strings.TrimSpace(f.kid("e").all())))
	case "sPre":
		return f.scripts("") + f.kid("e").all()
	case "rad":
		if deg := f.kid("deg").all(); deg != "" {
			return `\sqrt[` + deg + "]" + f.group("e")
		}
		return `\sqrt` + f.group("e")
	case "nary":
		return f.scripts(Symbols.Replace(f.char("∫"))) + " " + f.group("e")
	case "d":
		return f.brackets()
	case "func":
		return strings.TrimSpace(f.kid("fName").all()) + " " + f.group("e")
	case "limLow":
		return f.kid("e").all() + "_" + f.group("lim")
	case "limUpp":
		return f.kid("e").all() + "^" + f.group("lim")
	case "acc":
		if name, known := Accents[f.char("\u0302")]; known {
			return accented(name, strings.TrimSpace(f.kid("e").all()))
		}
		return f.kid("e").all() + f.char("")
	case "bar":
		if pos, _ := f.property("pos"); pos == "top" {
			return `\overline` + f.group("e")
		}
		return `\underline` + f.group("e")
	case "m":
		return `\begin{matrix}` + f.rows("mr") + `\end{matrix}`
	case "eqArr":
		return `\begin{matrix}` + f.rows("e") + `\end{matrix}`
	case "groupChr":
		if name, known := Accents[f.char("⏟")]; known {
			return name + f.group("e")
		}
	case "ctrlPr", "rPr", "argPr", "oMathParaPr":
		return ""
	}
	return f.all()
}

// scripts appends the index and the exponent to a base, if there are any.
func (f *Office) scripts(base string) string {
	if base == "" {
		base = "{}"
	}
	if sub := strings.TrimSpace(f.kid("sub").all()); sub != "" {
		base += "_{" + sub + "}"
	}
	if sup := strings.TrimSpace(f.kid("sup").all()); sup != "" {
		base += "^{" + sup + "}"
	}
	return base
}

// char returns the character that an element sets, or the usual one.
func (f *Office) char(usual string) string {
	if chr, found := f.property("chr"); found {
		return chr
	}
	return usual
}

// alphabets are the commands for the letters of special alphabets.
var alphabets = map[string]string{"double-struck": `\mathbb`, "script": `\mathcal`, "fraktur": `\mathfrak`}

// run renders a run of text of one style. The name of a function becomes its command, and plain words become text.
func (f *Office) run() string {
	text, alphabet, isPlain := f.Text, "", false
	for _, k := range f.Kids {
		switch k.Name {
		case "t":
			text += k.Text
		case "rPr":
			nor := k.kid("nor")
			isPlain = isPlain || nor.Name != "" && nor.Val != "0" && nor.Val != "off"
			alphabet += alphabets[k.kid("scr").Val]
		}
	}
	name, words := strings.TrimSpace(text), Symbols.Replace(text)
	switch {
	case slices.Contains(functions, name):
		return `\` + name
	case isPlain && strings.ContainsFunc(text, unicode.IsLetter):
		return `\text{` + words + "}"
	case alphabet != "" && name != "":
		return alphabet + "{" + strings.TrimSpace(words) + "}"
	}
	return words
}

func (f *Office) brackets() string {
	between := func(property, usual string) string {
		if val, found := f.property(property); found {
			return Symbols.Replace(val)
		}
		return usual
	}
	var parts []string
	for _, k := range f.Kids {
		if k.Name == "e" {
			parts = append(parts, k.all())
		}
	}
	return between("begChr", "(") + strings.Join(parts, between("sepChr", "|")) + between("endChr", ")")
}

// rows renders the rows of a matrix, or of equations one below the other.
func (f *Office) rows(name string) string {
	var rows []string
	for _, k := range f.Kids {
		if k.Name != name {
			continue
		}
		var cells []string
		for _, cell := range k.Kids {
			if cell.Name == "e" {
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
