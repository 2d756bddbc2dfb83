package rtf

import (
	"strconv"
	"strings"

	"parley/internal/extract/latex"
)

// rtfFormula is the formula that is being read. RTF has the same elements as Office's XML, as groups: {\mf{\mnum …}{\mden …}}.
type rtfFormula struct {
	root     *latex.Office
	elements int
	bytes    int
}

// The bounds of one formula. Anything beyond them is left out.
const (
	formulaDepth    = 60
	formulaElements = 20_000
	formulaBytes    = 1 << 20
)

// begin starts a formula, and returns its element.
func (f *rtfFormula) begin() *latex.Office {
	*f = rtfFormula{root: &latex.Office{Name: "oMath"}}
	return f.root
}

// end returns the formula that was read.
func (f *rtfFormula) end() string {
	formula := ""
	if f.root != nil {
		formula = f.root.Formula()
	}
	*f = rtfFormula{}
	return formula
}

// text adds text to an element: the text of a run, or the value of a property.
func (f *rtfFormula) text(e *latex.Office, s string) {
	if f.bytes += len(s); e == nil || f.bytes > formulaBytes {
		return
	}
	if e.Name == "r" {
		e.Text += s
		return
	}
	e.Val += s
}

// scripts are the alphabets of runs, by their numbers in RTF.
var scripts = map[int]string{1: "script", 2: "fraktur", 3: "double-struck"}

// element handles a control word within a formula, and reports whether the word belongs to the formula.
func (r *rtfReader) element(word string, n int, has bool) bool {
	name, isOne := strings.CutPrefix(word, "m")
	if !isOne || name == "" || r.state.element == nil {
		return false
	}
	r.flush()
	switch name {
	case "scr":
		r.state.element.Add("rPr").Add("scr").Val = scripts[n]
		return true
	case "nor":
		r.state.element.Add("rPr").Add("nor").Val = "on"
		return true
	case "sty", "lit", "aln", "brk":
		return true
	}
	if r.formula.elements++; r.state.depth >= formulaDepth || r.formula.elements > formulaElements {
		r.state.element = nil
		return true
	}
	r.state.depth++
	r.state.element = r.state.element.Add(name)
	if has {
		r.state.element.Val = strconv.Itoa(n)
	}
	return true
}
