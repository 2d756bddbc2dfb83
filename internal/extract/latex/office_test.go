package latex

import (
	"encoding/xml"
	"strings"
	"testing"
)

func TestReadOffice_KeepsWhatAFormulaSays(t *testing.T) {
	for source, want := range map[string]string{
		`<r><rPr><sty val="p"/></rPr><t>sin</t></r><r><t>x</t></r>`:                                                                            `$\sin x$`,
		`<r><t>sinus</t></r><r><t>x</t></r>`:                                                                                                   `$sinusx$`,
		`<limLow><e><r><t>lim</t></r></e><lim><r><t>n→∞</t></r></lim></limLow>`:                                                                `$\lim_{n\to \infty}$`,
		`<sSup><e><r><rPr><scr val="double-struck"/></rPr><t>R</t></r></e><sup><r><t>n</t></r></sup></sSup>`:                                   `$\mathbb{R}^{n}$`,
		`<d><dPr><begChr val="{"/><endChr val=""/></dPr><e><eqArr><e><r><t>1</t></r></e><e><r><t>0</t></r></e></eqArr></e></d>`:                `$\{\begin{matrix}1 \\ 0\end{matrix}$`,
		`<r><rPr><nor/></rPr><t>if </t></r><r><rPr><nor val="0"/></rPr><t>x</t></r>`:                                                           `$\text{if }x$`,
		`<limUpp><e><groupChr><groupChrPr><chr val="⏞"/></groupChrPr><e><r><t>a</t></r></e></groupChr></e><lim><r><t>n</t></r></lim></limUpp>`: `$\overbrace{a}^{n}$`,
		`<groupChr><e><r><t>a</t></r></e></groupChr>`:                                                                                          `$\underbrace{a}$`,
		`<acc><e><r><t>x</t></r></e></acc>`:                                                                                                    `$\hat{x}$`,
		`<nary><sub/><sup/><e><r><t>f</t></r></e></nary>`:                                                                                      `$\int {f}$`,
		`<sSubSup><e/><sub><r><t>6</t></r></sub><sup><r><t>14</t></r></sup></sSubSup><r><t>C</t></r>`:                                          `${}_{6}^{14}C$`,
		`<sSup><e><r><t>a+b</t></r></e><sup><r><t>2</t></r></sup></sSup><del><r><t>gone</t></r></del>`:                                         `${a+b}^{2}$`,
		`<f><fPr><type val="noBar"/></fPr><num><r><t>n</t></r></num><den><r><t>k</t></r></den></f><ctrlPr/>`:                                   `$\binom{n}{k}$`,
		``: "",
	} {
		d := xml.NewDecoder(strings.NewReader("<oMath>" + source + "</oMath>"))
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadOffice(d, token.(xml.StartElement), func(name xml.Name) bool { return name.Local == "del" })
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", source, got, err, want)
		}
	}
}
