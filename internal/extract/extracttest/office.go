package extracttest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/extract"
)

//go:embed testdata
var testdata embed.FS

// CompoundFile returns a file of testdata/cfb. Other programs made these files; the scripts are beside them:
//
//	poi-*         MakeCFB.java, with Apache POI 5.4.1
//	oxmsg-*       oxmsg.mjs, with the npm package @tutao/oxmsg 0.2.3
//	pyaaf2-*      pyaaf2.py, with pyaaf2 1.7.1
//	xlwt.xls      twenty lines of Python with xlwt 1.3.0: dates_1904, five strings of 5,000 characters
//	libreoffice.* LibreOffice 7.4, soffice --headless --convert-to doc, xls or ppt of a line of text
//	slides.ppt    slides.py, with python-pptx 1.0.2, and the same file again
func CompoundFile(t testing.TB, name string) []byte {
	t.Helper()
	f, err := testdata.Open(path.Join("testdata", "cfb", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := io.Reader(f)
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Pattern returns the content that the makers of the files put into a stream of a size.
func Pattern(size int) string {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i*7 + size)
	}
	return string(data)
}

// DocxStart and DocxEnd enclose the paragraphs of a word/document.xml.
const DocxStart = `<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body>`

// DocxEnd ends what DocxStart begins.
const DocxEnd = `</w:body></w:document>`

// Para is a paragraph with properties and the text of one run.
func Para(properties, text string) string {
	return "<w:p><w:pPr>" + properties + "</w:pPr><w:r><w:t xml:space=\"preserve\">" + text + "</w:t></w:r></w:p>"
}

// Cell is a cell of a table with one paragraph.
func Cell(text string) string { return "<w:tc>" + Para("", text) + "</w:tc>" }

// The parts of an EPUB file of two chapters.
const (
	EpubContainer  = `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`
	EpubPackageXML = `<package><metadata xmlns:dc="dc"><dc:title>The  Book</dc:title><dc:title>Subtitle</dc:title><dc:creator>Ada</dc:creator><dc:subject>sea</dc:subject><dc:subject>ships</dc:subject><dc:language>en</dc:language></metadata>
<manifest><item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/><item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/><item id="pic" href="p.png" media-type="image/png"/></manifest>
<spine><itemref idref="one"/><itemref idref="pic"/><itemref idref="two"/><itemref idref="gone"/></spine></package>`
)

// MakeZIP makes an archive of parts, by name and content in turn.
func MakeZIP(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// LibreOffice returns a file of testdata/libreoffice. LibreOffice 7.4 made these files: soffice --headless --convert-to of
// plan.html, of a table of prices in CSV, of a presentation of one text box, and of lists.html by way of lists.odt; doc and
// xls from the docx and xlsx files. Signs.py made signs.docx with python-docx 1.2, chart.py a presentation for chart.odp, and
// openpyxl a sheet for comment.ods.
func LibreOffice(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.ReadFile(path.Join("testdata", "libreoffice", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Pandoc returns a file of testdata/pandoc: guide.md, or a conversion of it by pandoc 3.9 (-s).
func Pandoc(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.ReadFile(path.Join("testdata", "pandoc", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// LockedPassword is the password of the files of testdata/locked, which other programs made:
//
//	7zip-*       7zz a -tzip -mm=METHOD -mem=CIPHER -psesame NAME secret.txt; without a password -tgzip, -tbzip2, -txz;
//	             7zz a -t7z -m0=METHOD NAME secret.txt second.txt, with -psesame for AES, and with -mhe=on for hidden
//	gnu.tar.*    tar -cf gnu.tar secret.txt second.txt (the same text twice), then gzip -9n, bzip2, xz -9 and zstd -19
//	python-      a script of twenty lines that writes blocks of RAR 5.0; rarfile 4.2 finds it sound
//	libreoffice- LibreOffice 7.4, storeToURL with Password, or with EncryptionData (OOXPassword; CryptoType Standard)
//	msoffcrypto- msoffcrypto-tool 6.1, OOXMLFile.encrypt, of libreoffice-plain.docx
const LockedPassword = "sesame"

// LockedFile returns a file of testdata/locked.
func LockedFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.ReadFile(path.Join("testdata", "locked", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TextOf reads a file, and returns its text and that of the files inside it. The error is why a part
// of that is missing.
func TextOf(t testing.TB, name string, data []byte, passwords ...string) (string, error) {
	t.Helper()
	in := Input(name, data)
	in.Spool, in.Passwords = filepath.Join(t.TempDir(), "spool"), passwords
	x := &extract.Extractor{CacheDir: ParserCache}
	defer x.Close()
	doc, err := x.File(t.Context(), in)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(in.Spool)
	var b strings.Builder
	for _, p := range doc.Pages {
		b.WriteString(p.Text)
	}
	for i, p := range doc.Parts {
		if p.Refused != nil {
			err = p.Refused
			continue
		}
		content, bad := os.ReadFile(filepath.Join(in.Spool, extract.PartName(i)))
		if bad != nil {
			t.Fatal(bad)
		}
		b.Write(content)
	}
	if doc.Cut != nil {
		err = doc.Cut
	}
	return b.String(), err
}

// OdfStart and OdfEnd enclose the body of a content.xml.
const OdfStart = `<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"><office:body>`

// OdfEnd ends what OdfStart begins.
const OdfEnd = `</office:body></office:document-content>`

// MakeODF makes an OpenDocument file of a kind ("text"), with more parts as pairs of name and content.
func MakeODF(t testing.TB, kind, body string, parts ...string) []byte {
	t.Helper()
	return MakeZIP(t, append([]string{
		"mimetype", "application/vnd.oasis.opendocument." + kind,
		"content.xml", OdfStart + "<office:" + kind + ">" + body + "</office:" + kind + ">" + OdfEnd,
	}, parts...)...)
}

// OdfRow is a row of a table.
func OdfRow(cells ...string) string {
	row := "<table:table-row>"
	for _, c := range cells {
		row += "<table:table-cell><text:p>" + c + "</text:p></table:table-cell>"
	}
	return row + "</table:table-row>"
}

// Rel is one relation of a part.
func Rel(id, kind, target string) string {
	return fmt.Sprintf(`<Relationship Id="%s" Type="%s/%s" Target="%s"/>`, id, OfficeNS, kind, target)
}

// Slide is a slide of shapes.
func Slide(shapes ...string) string {
	return `<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="` + "http://schemas.openxmlformats.org/drawingml/2006/main" +
		`" xmlns:mc="mc"><p:cSld><p:spTree>` + strings.Join(shapes, "") + `</p:spTree></p:cSld></p:sld>`
}

// Sp is a shape that fills a placeholder, or none for "-".
func Sp(role string, paragraphs ...string) string {
	ph := ""
	if role != "-" {
		ph = `<p:ph type="` + role + `"/>`
	}
	return `<p:sp><p:nvSpPr><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr><p:txBody><a:bodyPr/>` + strings.Join(paragraphs, "") + `</p:txBody></p:sp>`
}

// Ap is a paragraph of a slide.
func Ap(text string) string { return `<a:p><a:r><a:t>` + text + `</a:t></a:r></a:p>` }

// ApWith is a paragraph of a slide with properties.
func ApWith(properties, text string) string {
	return `<a:p><a:pPr>` + properties + `</a:pPr><a:r><a:t>` + text + `</a:t></a:r></a:p>`
}

// MakePPTX makes a presentation of slides, in this order although their parts have other numbers.
func MakePPTX(t testing.TB, slides []string, parts ...string) []byte {
	t.Helper()
	list, rels := "", RelsStart
	for i, s := range slides {
		n := len(slides) - i
		list += fmt.Sprintf(`<p:sldId id="%d" r:id="r%d"/>`, 256+i, i)
		rels += Rel(fmt.Sprintf("r%d", i), "slide", fmt.Sprintf("slides/slide%d.xml", n))
		parts = append(parts, fmt.Sprintf("ppt/slides/slide%d.xml", n), s)
	}
	return MakeZIP(t, append(parts,
		"ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="`+OfficeNS+`"><p:sldIdLst>`+list+`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels+RelsEnd)...)
}

// ChartXML is a chart with a title and one series.
const ChartXML = `<c:chartSpace xmlns:c="c" xmlns:a="` + "http://schemas.openxmlformats.org/drawingml/2006/main" + `"><c:chart>
<c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>
<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx>
<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat>
<c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>4.2999999999999998</c:v></c:pt><c:pt idx="1"><c:v>2.5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>
</c:barChart></c:plotArea></c:chart></c:chartSpace>`

// MakeXLSX makes a workbook of sheets, by name and rows in turn.
func MakeXLSX(t testing.TB, sheets []string, parts ...string) []byte {
	t.Helper()
	list, rels := "", RelsStart
	for i := 0; i+1 < len(sheets); i += 2 {
		n := i/2 + 1
		list += fmt.Sprintf(`<sheet name="%s" sheetId="%d" r:id="r%d"/>`, sheets[i], n, n)
		rels += Rel(fmt.Sprintf("r%d", n), "worksheet", fmt.Sprintf("/xl/worksheets/sheet%d.xml", n))
		parts = append(parts, fmt.Sprintf("xl/worksheets/sheet%d.xml", n), `<worksheet><sheetData>`+sheets[i+1]+`</sheetData></worksheet>`)
	}
	return MakeZIP(t, append(parts,
		"xl/workbook.xml", `<workbook xmlns:r="`+OfficeNS+`"><sheets>`+list+`</sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", rels+Rel("s", "sharedStrings", "sharedStrings.xml")+RelsEnd)...)
}

// Xrow is a row of cells given as "A1=text", "A1#3=4.5" with a style, or "A1$2" for a shared string.
func Xrow(number int, cells ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<row r="%d">`, number)
	for _, c := range cells {
		if ref, i, ok := strings.Cut(c, "$"); ok {
			fmt.Fprintf(&b, `<c r="%s" t="s"><v>%s</v></c>`, ref, i)
			continue
		}
		ref, value, _ := strings.Cut(c, "=")
		if ref, style, ok := strings.Cut(ref, "#"); ok {
			fmt.Fprintf(&b, `<c r="%s" s="%s"><f>SUM(A1)</f><v>%s</v></c>`, ref, style, value)
			continue
		}
		fmt.Fprintf(&b, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, ref, value)
	}
	return b.String() + "</row>"
}

// The text around the relations of a part, and the namespace of their types.
const (
	RelsStart = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	RelsEnd   = `</Relationships>`
	OfficeNS  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)
