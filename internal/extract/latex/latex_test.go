package latex

import (
	"encoding/xml"
	"strings"
	"testing"
)

func TestReadMathML(t *testing.T) {
	for mathml, want := range map[string]string{
		`<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>`:                                                           "$E=mc^{2}$",
		`<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac>`:                                                      `$\frac{a}{b+1}$`,
		`<mrow><mo>(</mo><mfrac linethickness="0"><mi>n</mi><mi>k</mi></mfrac><mo>)</mo></mrow>`:                                    `$(\binom{n}{k})$`,
		`<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub>`: `$\sum_{i=1}^{n}x_{i}$`,
		`<msqrt><mi>x</mi><mo>−</mo><mn>1</mn></msqrt><mo>&#x2062;</mo><mroot><mi>y</mi><mn>3</mn></mroot>`:                         `$\sqrt{x-1}\sqrt[3]{y}$`,
		`<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>`:                                                        `${a+b}^{2}$`,
		`<mi>sin</mi><mo>&#x2061;</mo><mi>x</mi><mo>∞</mo>`:                                                                         `$\sin x\infty$`,
		`<mover><mi>v</mi><mo>→</mo></mover>`:                                                                                       `$\vec{v}$`,
		`<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>`:                    `$\begin{matrix}1 & 2 \\ 3\end{matrix}$`,
		`<semantics><mi>x</mi><annotation encoding="application/x-tex">{\displaystyle \alpha}</annotation></semantics>`:             `$\alpha$`,
		`<semantics><mi>x</mi><annotation encoding="StarMath 5.0">x over y</annotation></semantics>`:                                `$x$`,
		`<mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable>`:                                                               `$\{\begin{matrix}1\end{matrix}$`,
		`<mo>lim</mo><mover accent="true"><mrow><mi>A</mi><mi>B</mi></mrow><mo>¯</mo></mover>`:                                      `$\lim\overline{AB}$`,
		`<mover><mover><mi>a</mi><mo>⏞</mo></mover><mi>n</mi></mover><munder><mi>b</mi><mo>⏟</mo></munder>`:                         `$\overbrace{a}^{n}\underbrace{b}$`,
		`<mphantom><mi>x</mi></mphantom>`:                                                                                           "",
		``:                                                                                                                          "",
	} {
		if got := read(t, mathml); got != want {
			t.Errorf("%s: %q, want %q", mathml, got, want)
		}
	}
}

// A formula that is nested without end, or has too many parts, ends.
func TestReadMathML_IsBounded(t *testing.T) {
	deep := strings.Repeat("<mrow>", 5000) + "x" + strings.Repeat("</mrow>", 5000)
	wide := strings.Repeat("<mi>x</mi>", 3*maxElements)
	if got := read(t, deep); got != "" {
		t.Errorf("deep: %q", got)
	}
	if got := read(t, wide); len(got) > maxElements+10 {
		t.Errorf("wide: %d bytes", len(got))
	}
}

func read(t *testing.T, inner string) string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<math>" + inner + "</math>"))
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadMathML(d, token.(xml.StartElement))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
