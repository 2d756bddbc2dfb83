package formats

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

const mathML = `<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow>` +
	`<annotation encoding="application/x-tex">{\displaystyle E=mc^{2}}</annotation></semantics></math>`

// Formulas are LaTeX wherever they are MathML: hidden beside a picture as in MediaWiki's pages, as the objects of an
// OpenDocument text, and within articles in XML.
func TestFile_ReadsFormulasAsLaTeX(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a.html": {[]byte(`<p>So <span><span style="display: none;">` + mathML + `</span><img class="mwe-math-fallback-image-inline" alt="{\displaystyle E}"></span> holds.</p>`), "P So $E=mc^{2}$ holds.\n"},
		"c.html": {[]byte(`<p>Of C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>, x<sub><i>i</i></sub> and V<sub>max</sub>.</p>`), "P Of C₆H₁₂O₆, xᵢ and Vmax.\n"},
		"b.html": {[]byte(`<p>So</p>` + `<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>`), "P So\nP $\\frac{1}{2}$\n"},
		"a.md":   {[]byte("So <math><mi>x</mi></math> and 10<sup>6</sup> H<sub>2</sub>O.\n"), "P So x and 10⁶ H₂O.\n"},
		"a.odt": {extracttest.MakeODF(t, "text", `<text:p>So <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame> holds.</text:p>`,
			"Object 1/content.xml", `<?xml version="1.0"?>`+mathML), "P So $E=mc^{2}$ holds.\n"},
		"a.xml":  {[]byte(`<?xml version="1.0"?><article><p>So ` + mathML + ` holds.</p></article>`), "P So $E=mc^{2}$ holds.\n"},
		"a.wiki": {[]byte("So <math>E=mc^2</math> and 10<sup>6</sup> H<sub>2</sub>O.\n"), "P So $E=mc^2$ and 10⁶ H₂O.\n"},
		"a.rtf":  {[]byte(`{\rtf1 5,000{\super 1} and H{\sub 2}O and 10{\up6 6}.}`), "P 5,000¹ and H₂O and 10⁶.\n"},
		"a.tex":  {[]byte(`\section{A}5,000\textsuperscript{1} on H\textsubscript{2}O.`), "H2 A\nP 5,000¹ on H₂O.\n"},
		"a.pptx": {extracttest.MakePPTX(t, []string{extracttest.Slide(extracttest.Sp("-",
			`<a:p><a:pPr><a:buAutoNum type="alphaLcParenR" startAt="3"/></a:pPr><a:r><a:t>5,000</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>1</a:t></a:r><a:r><a:rPr/><a:t> more CO</a:t></a:r><a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r></a:p>`,
			extracttest.ApWith(`<a:buAutoNum type="alphaLcParenR" startAt="3"/>`, "next"), extracttest.ApWith(`<a:buAutoNum type="romanUcPeriod"/>`, "other")))}),
			"page 1\nL c) 5,000¹ more CO₂\nL d) next\nL I. other\n"},
	} {
		if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, name, c.data))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
