package rtf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestRTF_ReadsParagraphsAndCharacters(t *testing.T) {
	for name, c := range map[string]struct{ rtf, want string }{
		"paragraphs": {`{\rtf1\ansi One \b two\b0  three.\par Four\line five\par}`, "P One two three.\nP Four⏎five\n"},
		"characters": {`{\rtf1 a\emdash b\~c\-d\_e \{x\} \\y \lquote q\rquote\tab z}`, "P a—b cd-e {x} \\y ‘q’ z\n"},
		"code page":  {`{\rtf1\ansicpg1250 za\'bf\'f3\'b3\'e6}`, "P zażółć\n"},
		"font code pages": {
			`{\rtf1{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset128 B;}{\f2\fcharset2 Symbol;}}\f1 \'83\'65\'83\'58\'83\'67\f0  caf\'e9 \f2\'b7}`,
			"P テスト café •\n",
		},
		"Unicode":               {`{\rtf1\uc1 \u8364?5 \u-10179?\u-8704? {\uc2\u252\'fc\'fcb}{\uc0\u252 b}}`, "P €5 😀 übüb\n"},
		"hidden":                {`{\rtf1 seen{\v not}{\deleted gone} too\v0}`, "P seen too\n"},
		"skipped":               {`{\rtf1{\info{\author Me}}{\*\generator X;}{\header top}{\pict\wmetafile8 0102}{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}} text}`, "P link text\n"},
		"binary":                {"{\\rtf1 before {\\pict\\bin5 }}{{\\}after}", "P before after\n"},
		"replaced":              {`{\rtf1{\upr{?}{\*\ud{\u8364?}}}}`, "P €\n"},
		"a marker's properties": {`{\rtf1{\stylesheet{\s2\outlinelevel1 Part;}}\pard\s2{\listtext\pard\plain\s0 2.\tab}Levels\par}`, "H2 2. Levels\n"},
		"never ended":           {`{\rtf1 {\b text`, "P text\n"},
		"over ended":            {`{\rtf1 text}}} more`, "P text more\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, "a.rtf", []byte(c.rtf)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRTF_FindsStructure(t *testing.T) {
	source := `{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\stylesheet{\s0 Normal;}{\s1\b heading 1;}{\s7\outlinelevel1 Eigener Stil;}{\*\cs2 x;}}
{\info{\title Handbook}}
\pard\s1 Time off\par\pard\s7 Part two\par\pard Text{\footnote \pard A note.} goes on{\*\annotation Why?}.\par
{\listtext\f0\'b7\tab}first\par{\listtext 2.\tab}second\par
\trowd\trhdr\intbl Plan\cell Price\cell\row\trowd\intbl Plus\par again\cell $5\cell\row\pard
\trowd\intbl Name\cell Ann\cell\row\trowd\intbl City\cell Bonn\cell\row\pard After.\par}`
	want := `H1 Time off
H2 Part two
P Text goes on.
L • first
L 2. second
TH Plan | Price
TR Plan: Plus again; Price: $5
TR Plan: Name; Price: Ann
TR Plan: City; Price: Bonn
P After.
P A note.
P Comment: Why?
`
	// Two tables that adjoin are one to RTF.
	doc := extracttest.Read(t, "a.rtf", []byte(source))
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Handbook" {
		t.Errorf("title %q", doc.Title)
	}
}

func TestRTF_UnwrapsAWebPage(t *testing.T) {
	source := `{\rtf1\ansi\fromhtml1{\*\htmltag19 <html>}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Hello \htmlrtf\b\htmlrtf0{\*\htmltag84 <b>}bold & {\*\htmltag92 </b>}\htmlrtf\par}\htmlrtf0{\*\htmltag72 </p>}{\*\htmltag64 <p>}next}`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.rtf", []byte(source))), "P Hello bold &\nP next\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRTF_RefusesWithAReason(t *testing.T) {
	extracttest.WantReason(t, "a.rtf", []byte(`{\rtf1`+strings.Repeat("{", 20_000)), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.rtf", []byte(`{\rtf1 `+strings.Repeat("word ", 100)), extract.Limits{TextBytes: 100}, extract.TooLarge)
	extracttest.WantReason(t, "a.rtf", []byte(`{\rtf1\trowd `+strings.Repeat(`\intbl word\cell\row `, 100)), extract.Limits{TextBytes: 100}, extract.TooLarge)
	extracttest.WantReason(t, "a.rtf", []byte(`{\rtf1 `+strings.Repeat(`\cell\row`, 1000)), extract.Limits{TextBytes: 100}, extract.TooLarge)
}

// Word and LibreOffice write formulas as groups, and a picture beside them for programs that cannot read these.
func TestRTF_ReadsFormulasAsLaTeX(t *testing.T) {
	for source, want := range map[string]string{
		`Mass is {\mmath{\*\moMath{\rtlch\f34 {\mr\mscr0\msty2 \loch\f34 E=}{\msSup{\msSupPr{\mctrlPr\f34 }}{\me{\mr c}}{\msup{\mr 2}}}}}{\mmathPict{\*\shppict{\pict 89}}}} here.`: "P Mass is $E=c^{2}$ here.\n",
		`{\*\moMathPara{\moMathParaPr{\mjc center}}{\*\moMath{\mnary{\mnaryPr{\mchr \u8721?}}{\msub{\mr i=1}}{\msup{\mr n}}{\me{\mf{\mnum{\mr\mscr3 R}}{\mden{\mr\mnor all}}}}}}}`:  "P $\\sum_{i=1}^{n} {\\frac{\\mathbb{R}}{\\text{all}}}$\n",
		`{\*\moMath{\md{\mdPr{\mbegChr \{}{\mendChr }}{\me{\mr x}}}}`: "P $\\{x$\n",
		`empty {\*\moMath} formula`:                                   "P empty  formula\n",
		`never {\*\moMath{\mr ended`:                                  "P never\n",
	} {
		if got := extracttest.Outline(extracttest.Read(t, "a.rtf", []byte(`{\rtf1\ansi\uc1 `+source+`}`))); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	deep := `{\rtf1 before {\*\moMath` + strings.Repeat(`{\me`, 5000) + ` x` + strings.Repeat("}", 5000) + `} after}`
	if got := extracttest.Outline(extracttest.Read(t, "a.rtf", []byte(deep))); got != "P before  after\n" {
		t.Errorf("a deep formula: %q", got)
	}
}
