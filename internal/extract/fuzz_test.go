package extract

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"parley/internal/format"
)

// fuzzed holds that an input gives a document that keeps its contract, or an *Error other than
// Crashed. PDF has its own sandbox and is too slow to start here.
func fuzzed(t *testing.T, name string, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte("%PDF-")) || format.Ext(name) == "pdf" {
		t.Skip()
	}
	doc, err := File(context.Background(), name, bytes.NewReader(data), int64(len(data)), Limits{TextBytes: 1 << 20, PartsBytes: 8 << 20})
	var refused *Error
	switch {
	case errors.As(err, &refused):
		if refused.Reason == Crashed {
			t.Errorf("crashed: %s", refused.Detail)
		}
	case err != nil:
		t.Error(err)
	default:
		checkDocument(t, doc)
	}
}

// fuzzSeeds are names and contents: every extension of every format, and every signature.
func fuzzSeeds() (seeds [][2]string) {
	const text = "# A\n\nB: c\n- d\n\n<p>e</p>\n"
	for _, f := range format.Table {
		for _, ext := range slices.Concat(f.Extensions, f.Rare) {
			for _, signature := range append([]string{""}, f.Signatures...) {
				seeds = append(seeds, [2]string{"a." + ext, signature + text})
			}
		}
	}
	return seeds
}

func FuzzFile(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Add("a.md", []byte("---\ntitle: x\n---\n# A\n\n- b\n\n|a|b|\n|-|-|\n|1|2|\n\n```\nc\n```\n"))
	f.Add("a.html", []byte("<table><tr><th>a<td>b</table><ul><li>c<p>d</ul><pre>e</pre>f<br><br>g"))
	f.Add("a.csv", []byte("a;b\n1;\"2\n3\"\n"))
	f.Add("a.txt", []byte("HEAD\n\nwrapped line\nmore\n- item\n\xff\xfe"))
	for _, name := range []string{"plan.docx", "plan.odt", "prices.xlsx", "prices.ods", "deck.pptx"} {
		f.Add(name, libreOffice(f, name))
	}
	f.Add("a.epub", makeZIP(f, "META-INF/container.xml", epubContainer, "OEBPS/book.opf", epubPackageXML, "OEBPS/one.xhtml", "<h1>a</h1>b"))
	f.Fuzz(fuzzed)
}

func FuzzRTF(f *testing.F) {
	f.Add([]byte(`{\rtf1{\stylesheet{\s1 heading 1;}}\s1 a\par\trowd\intbl b\cell c\cell\row\pard{\footnote d}\u8364?\'e9{\*\x y}}`))
	f.Add([]byte(`{\rtf1\fromhtml1{\*\htmltag64 <p>}a\htmlrtf b\htmlrtf0 {\upr{c}{\*\ud d}}}`))
	f.Add([]byte(`{\rtf1{\fonttbl{\f1\fcharset128;}}\f1\'83\'65{\listtext\'b7}x\bin3abc`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, "a.rtf", append([]byte(`{\rtf`), data...)) })
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`[{"a":[1,"b"],"c":{"d":null}}]`))
	f.Add([]byte("{\"a\":1}\n{\"a\":2}\n"))
	f.Add([]byte(`{"a":[{"b":1.5e9},{"c":[[]]}],"title":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, "a.json", data) })
}

// FuzzOffice puts one part of a document into an archive that is sound.
func FuzzOffice(f *testing.F) {
	f.Add(uint8(0), slide(sp("title", ap("x")), sp("body", ap("y"))))
	f.Add(uint8(1), chartXML)
	f.Add(uint8(2), `<sheetData>`+xrow(1, "A1=a", "B1=b")+xrow(3, "A3#0=1", "C3$0")+`</sheetData>`)
	f.Add(uint8(3), `<styleSheet><numFmts><numFmt numFmtId="5" formatCode="[$€-407]#,##0.0;[h]"/></numFmts><cellXfs><xf numFmtId="5"/></cellXfs></styleSheet>`)
	f.Add(uint8(4), `<text:list><text:list-item><text:p>a<text:s text:c="9"/></text:p></text:list-item></text:list><table:table>`+odfRow("a", "b")+`</table:table>`)
	f.Add(uint8(5), `<table:table table:name="S">`+odfRow("a", "b")+`<table:table-row table:number-rows-repeated="9">`+odfRow("1")+`</table:table-row></table:table>`)
	f.Add(uint8(6), `<draw:page><draw:frame presentation:class="title"><text:p>x</text:p></draw:frame></draw:page>`)
	f.Add(uint8(7), docxStart+para("", "x")+"<w:tbl><w:tr>"+cell("y")+"</w:tr></w:tbl>"+docxEnd)
	f.Fuzz(func(t *testing.T, kind uint8, part string) {
		switch kind % 8 {
		case 0:
			fuzzed(t, "a.pptx", makePPTX(t, []string{part}))
		case 1:
			fuzzed(t, "a.pptx", makePPTX(t, []string{slide()}, "ppt/c.xml", part,
				"ppt/slides/_rels/slide1.xml.rels", relsStart+rel("a", "chart", "../c.xml")+rel("b", "diagramData", "../c.xml")+relsEnd))
		case 2:
			fuzzed(t, "a.xlsx", makeXLSX(t, []string{"S", part}))
		case 3:
			fuzzed(t, "a.xlsx", makeXLSX(t, []string{"S", xrow(1, "A1#0=45000.5", "B1#1=-1.5")}, "xl/styles.xml", part, "xl/sharedStrings.xml", part))
		case 4:
			fuzzed(t, "a.odt", makeODF(t, "text", part))
		case 5:
			fuzzed(t, "a.ods", makeODF(t, "spreadsheet", part))
		case 6:
			fuzzed(t, "a.odp", makeODF(t, "presentation", part))
		case 7:
			fuzzed(t, "a.docx", makeZIP(t, "word/document.xml", part))
		}
	})
}
