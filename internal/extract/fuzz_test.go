package extract

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// FuzzFile holds that every input gives a document that keeps its contract, or an *Error other
// than Crashed. PDF has its own sandbox and is too slow to start here.
func FuzzFile(f *testing.F) {
	f.Add("a.md", []byte("---\ntitle: x\n---\n# A\n\n- b\n\n|a|b|\n|-|-|\n|1|2|\n\n```\nc\n```\n"))
	f.Add("a.html", []byte("<table><tr><th>a<td>b</table><ul><li>c<p>d</ul><pre>e</pre>f<br><br>g"))
	f.Add("a.csv", []byte("a;b\n1;\"2\n3\"\n"))
	f.Add("a.txt", []byte("HEAD\n\nwrapped line\nmore\n- item\n\xff\xfe"))
	f.Add("a.docx", makeZIP(f, "word/document.xml", docxStart+para("", "x")+"<w:tbl><w:tr>"+cell("y")+"</w:tr></w:tbl>"+docxEnd))
	f.Add("a.json", []byte(`[{"a":[1,"b"],"c":{"d":null}}]`))
	f.Add("a.pptx", makePPTX(f, []string{slide(sp("title", ap("x")), sp("body", ap("y")))}))
	f.Add("a.xlsx", makeXLSX(f, []string{"S", xrow(1, "A1=a", "B1=b") + xrow(2, "A2#0=1")}))
	f.Add("a.odt", makeODF(f, "text", `<text:h text:outline-level="1">x</text:h><text:list><text:list-item><text:p>y</text:p></text:list-item></text:list>`))
	f.Add("a.ods", makeODF(f, "spreadsheet", `<table:table table:name="S">`+odfRow("a", "b")+odfRow("1", "2")+`</table:table>`))
	f.Add("a.epub", makeZIP(f, "META-INF/container.xml", epubContainer, "OEBPS/book.opf", epubPackageXML, "OEBPS/one.xhtml", "<h1>a</h1>b"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if bytes.Contains(data, []byte("%PDF-")) {
			t.Skip()
		}
		doc, err := File(context.Background(), name, bytes.NewReader(data), int64(len(data)), Limits{})
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
	})
}
