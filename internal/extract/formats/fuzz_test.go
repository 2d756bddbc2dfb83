package formats

import (
	"testing"

	"parley/internal/extract/extracttest"
)

func FuzzFile(f *testing.F) {
	for _, seed := range extracttest.FuzzSeeds() {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Add("a.md", []byte("---\ntitle: x\n---\n# A\n\n- b\n\n|a|b|\n|-|-|\n|1|2|\n\n```\nc\n```\n"))
	f.Add("a.html", []byte("<table><tr><th>a<td>b</table><ul><li>c<p>d</ul><pre>e</pre>f<br><br>g"))
	f.Add("a.csv", []byte("a;b\n1;\"2\n3\"\n"))
	f.Add("\x80.jpg", []byte("\xff\xd8\xff"))
	f.Add("a.txt", []byte("HEAD\n\nwrapped line\nmore\n- item\n\xff\xfe"))
	for _, name := range []string{"plan.docx", "plan.odt", "prices.xlsx", "prices.ods", "deck.pptx"} {
		f.Add(name, extracttest.LibreOffice(f, name))
	}
	f.Add("a.epub", extracttest.MakeZIP(f, "META-INF/container.xml", extracttest.EpubContainer, "OEBPS/book.opf", extracttest.EpubPackageXML, "OEBPS/one.xhtml", "<h1>a</h1>b"))
	f.Fuzz(extracttest.CheckAnyInput)
}

func FuzzRTF(f *testing.F) {
	f.Add([]byte(`{\rtf1{\stylesheet{\s1 heading 1;}}\s1 a\par\trowd\intbl b\cell c\cell\row\pard{\footnote d}\u8364?\'e9{\*\x y}}`))
	f.Add([]byte(`{\rtf1\fromhtml1{\*\htmltag64 <p>}a\htmlrtf b\htmlrtf0 {\upr{c}{\*\ud d}}}`))
	f.Add([]byte(`{\rtf1{\fonttbl{\f1\fcharset128;}}\f1\'83\'65{\listtext\'b7}x\bin3abc`))
	f.Fuzz(func(t *testing.T, data []byte) {
		extracttest.CheckAnyInput(t, "a.rtf", append([]byte(`{\rtf`), data...))
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`[{"a":[1,"b"],"c":{"d":null}}]`))
	f.Add([]byte("{\"a\":1}\n{\"a\":2}\n"))
	f.Add([]byte(`{"a":[{"b":1.5e9},{"c":[[]]}],"title":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.json", data) })
}

// FuzzOffice puts one part of a document into an archive that is sound.
func FuzzOffice(f *testing.F) {
	f.Add(uint8(0), extracttest.Slide(extracttest.Sp("title", extracttest.Ap("x")), extracttest.Sp("body", extracttest.Ap("y"))))
	f.Add(uint8(1), extracttest.ChartXML)
	f.Add(uint8(2), `<sheetData>`+extracttest.Xrow(1, "A1=a", "B1=b")+extracttest.Xrow(3, "A3#0=1", "C3$0")+`</sheetData>`)
	f.Add(uint8(3), `<styleSheet><numFmts><numFmt numFmtId="5" formatCode="[$€-407]#,##0.0;[h]"/></numFmts><cellXfs><xf numFmtId="5"/></cellXfs></styleSheet>`)
	f.Add(uint8(4), `<text:list><text:list-item><text:p>a<text:s text:c="9"/></text:p></text:list-item></text:list><table:table>`+extracttest.OdfRow("a", "b")+`</table:table>`)
	f.Add(uint8(5), `<table:table table:name="S">`+extracttest.OdfRow("a", "b")+`<table:table-row table:number-rows-repeated="9">`+extracttest.OdfRow("1")+`</table:table-row></table:table>`)
	f.Add(uint8(6), `<draw:page><draw:frame presentation:class="title"><text:p>x</text:p></draw:frame></draw:page>`)
	f.Add(uint8(7), extracttest.DocxStart+extracttest.Para("", "x")+"<w:tbl><w:tr>"+extracttest.Cell("y")+"</w:tr></w:tbl>"+extracttest.DocxEnd)
	f.Fuzz(func(t *testing.T, kind uint8, part string) {
		switch kind % 8 {
		case 0:
			extracttest.CheckAnyInput(t, "a.pptx", extracttest.MakePPTX(t, []string{part}))
		case 1:
			extracttest.CheckAnyInput(t, "a.pptx", extracttest.MakePPTX(t, []string{extracttest.Slide()}, "ppt/c.xml", part,
				"ppt/slides/_rels/slide1.xml.rels", extracttest.RelsStart+extracttest.Rel("a", "chart", "../c.xml")+extracttest.Rel("b", "diagramData", "../c.xml")+extracttest.RelsEnd))
		case 2:
			extracttest.CheckAnyInput(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", part}))
		case 3:
			extracttest.CheckAnyInput(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", extracttest.Xrow(1, "A1#0=45000.5", "B1#1=-1.5")}, "xl/styles.xml", part, "xl/sharedStrings.xml", part))
		case 4:
			extracttest.CheckAnyInput(t, "a.odt", extracttest.MakeODF(t, "text", part))
		case 5:
			extracttest.CheckAnyInput(t, "a.ods", extracttest.MakeODF(t, "spreadsheet", part))
		case 6:
			extracttest.CheckAnyInput(t, "a.odp", extracttest.MakeODF(t, "presentation", part))
		case 7:
			extracttest.CheckAnyInput(t, "a.docx", extracttest.MakeZIP(t, "word/document.xml", part))
		}
	})
}
