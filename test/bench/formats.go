package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"parley/internal/lexical/lexicaltest"
	"parley/internal/retrieval"
)

const (
	formatFiles    = 20
	formatPassages = 60 // of a file
	perPage        = 3  // passages on a page or slide
	longPDF        = 1000
)

// formats are those of generated files, with what makes one of some passages.
var formats = []struct {
	ext  string
	make func(passages []string) ([]byte, error)
}{
	{"pdf", makePDF}, {"docx", makeDOCX}, {"pptx", makePPTX}, {"xlsx", makeXLSX}, {"odt", makeODT},
	{"html", makeHTML}, {"md", makeText}, {"txt", makeText}, {"csv", makeCSV}, {"json", makeJSON},
	{"rtf", makeRTF}, {"eml", makeEML},
}

// formats measures the ingestion of generated files of each format, from the start of the program to
// its end, and that of a PDF file of a thousand pages.
func (b *bench) formats(ctx context.Context) error {
	g := lexicaltest.New(1)
	for _, f := range formats {
		dir, err := os.MkdirTemp(b.work, f.ext+"-")
		if err != nil {
			return err
		}
		for i := range formatFiles {
			g.Document()
			passages := make([]string, formatPassages)
			for n := range passages {
				passages[n] = g.Passage()
			}
			data, err := f.make(passages)
			if err != nil {
				return fmt.Errorf("make a file of the format %s: %w", f.ext, err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("report-%d.%s", i, f.ext)), data, 0o600); err != nil {
				return err
			}
		}
		if err := b.ingestFormat(ctx, fmt.Sprintf("ingestion of %d %s files", formatFiles, strings.ToUpper(f.ext)), dir, formatFiles); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(b.work, "long-")
	if err != nil {
		return err
	}
	passages := make([]string, longPDF*perPage)
	for i := range passages {
		passages[i] = g.Passage()
	}
	data, err := makePDF(passages)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "long.pdf"), data, 0o600); err != nil {
		return err
	}
	return b.ingestFormat(ctx, fmt.Sprintf("ingestion of one PDF file of %d pages within extract.memory", longPDF), dir, 1)
}

// ingestFormat measures the ingestion of a folder, all of which must become documents. What compiles
// PDFium is done before.
func (b *bench) ingestFormat(ctx context.Context, what, dir string, files int) error {
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	p := &passages{data: filepath.Join(dir, ".data")}
	if err := b.warmCache(ctx, program, p.data); err != nil {
		return err
	}
	took, err := consume(exec.CommandContext(ctx, program, "ingest", "--data", p.data, dir))
	if err != nil {
		return err
	}
	err = p.with(ctx, func(corpus *retrieval.Corpus) error {
		p.stats, err = corpus.Store().Stats(ctx, namespace)
		return err
	})
	if err != nil {
		return err
	}
	if p.stats.Documents != files {
		return fmt.Errorf("%s: %d of %d files became documents", what, p.stats.Documents, files)
	}
	seconds := took.wall.Seconds()
	b.add(what, "", "%.0f pages/s, %.2f MB/s, %.0f passages/s (%d pages, %.1f MB, CPU %.1f s)",
		float64(p.stats.Pages)/seconds, float64(p.stats.Bytes)/1e6/seconds, float64(p.stats.Chunks)/seconds,
		p.stats.Pages, float64(p.stats.Bytes)/1e6, took.cpu.Seconds())
	return os.RemoveAll(dir)
}

// warmCache gives a data folder the compiled parser of PDF files, which an ingestion makes once.
func (b *bench) warmCache(ctx context.Context, program, data string) error {
	cache := filepath.Join(b.work, "format-cache")
	if _, err := os.Stat(cache); err != nil {
		first := filepath.Join(b.work, "format-first")
		file := filepath.Join(b.work, "first.pdf")
		pdf, err := makePDF([]string{"one", "two"})
		if err == nil {
			err = os.WriteFile(file, pdf, 0o600)
		}
		if err != nil {
			return err
		}
		if _, err := consume(exec.CommandContext(ctx, program, "ingest", "--data", first, file)); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(first, "cache"), cache); err != nil {
			return fmt.Errorf("keep the compiled parser: %w", err)
		}
	}
	return os.CopyFS(filepath.Join(data, "cache"), os.DirFS(cache))
}

func makeText(passages []string) ([]byte, error) {
	return []byte(strings.Join(passages, "\n\n") + "\n"), nil
}

func makeHTML(passages []string) ([]byte, error) {
	return []byte("<!DOCTYPE html><html><head><title>Report</title></head><body><main><p>" +
		strings.Join(passages, "</p>\n<p>") + "</p></main></body></html>"), nil
}

func makeCSV(passages []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("number,text\n")
	for i, p := range passages {
		fmt.Fprintf(&b, "%d,\"%s\"\n", i, p)
	}
	return b.Bytes(), nil
}

func makeJSON(passages []string) ([]byte, error) {
	rows := make([]map[string]any, len(passages))
	for i, p := range passages {
		rows[i] = map[string]any{"number": i, "text": p}
	}
	return json.Marshal(rows)
}

func makeRTF(passages []string) ([]byte, error) {
	return []byte(`{\rtf1\ansi\deff0 {\fonttbl {\f0 Times;}}` + "\n" + strings.Join(passages, "\\par\n") + "}"), nil
}

func makeEML(passages []string) ([]byte, error) {
	return []byte("From: ann@example.com\r\nTo: bob@example.com\r\nSubject: Report\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n\r\n" + strings.Join(passages, "\r\n\r\n") + "\r\n"), nil
}

// entry is a file of an archive.
type entry struct{ name, body string }

func makeZip(entries ...entry) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(e.body)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

const (
	xmlHead   = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	ooxml     = "http://schemas.openxmlformats.org/"
	relations = ooxml + "officeDocument/2006/relationships"
)

// office makes a file of Microsoft Office, whose parts name their content types.
func office(main, mainType string, parts []entry, types map[string]string) ([]byte, error) {
	var over strings.Builder
	fmt.Fprintf(&over, `<Override PartName="/%s" ContentType="application/vnd.openxmlformats-officedocument.%s.main+xml"/>`, main, mainType)
	for _, p := range parts {
		if t := types[p.name]; t != "" {
			fmt.Fprintf(&over, `<Override PartName="/%s" ContentType="application/vnd.openxmlformats-officedocument.%s+xml"/>`, p.name, t)
		}
	}
	return makeZip(append([]entry{
		{"[Content_Types].xml", xmlHead + `<Types xmlns="` + ooxml + `package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` + over.String() + `</Types>`},
		{"_rels/.rels", relationships("officeDocument", main)},
	}, parts...)...)
}

// relationships makes a part that names others of one type, as rId1, rId2 and so on.
func relationships(kind string, targets ...string) string {
	var b strings.Builder
	b.WriteString(xmlHead + `<Relationships xmlns="` + ooxml + `package/2006/relationships">`)
	for i, t := range targets {
		fmt.Fprintf(&b, `<Relationship Id="rId%d" Type="%s/%s" Target="%s"/>`, i+1, relations, kind, t)
	}
	return b.String() + `</Relationships>`
}

func makeDOCX(passages []string) ([]byte, error) {
	var b strings.Builder
	for _, p := range passages {
		fmt.Fprintf(&b, "<w:p><w:r><w:t>%s</w:t></w:r></w:p>", html.EscapeString(p))
	}
	return office("word/document.xml", "wordprocessingml.document", []entry{{"word/document.xml", xmlHead +
		`<w:document xmlns:w="` + ooxml + `wordprocessingml/2006/main"><w:body>` + b.String() + `</w:body></w:document>`}}, nil)
}

func makePPTX(passages []string) ([]byte, error) {
	const spaces = `xmlns:a="` + ooxml + `drawingml/2006/main" xmlns:p="` + ooxml + `presentationml/2006/main" xmlns:r="` + relations + `"`
	var ids strings.Builder
	var slides []entry
	var targets []string
	types := map[string]string{}
	for i := 0; i < len(passages); i += perPage {
		var shapes strings.Builder
		for n, p := range passages[i:min(i+perPage, len(passages))] {
			fmt.Fprintf(&shapes, `<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Text"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>`+
				`<p:txBody><a:bodyPr/><a:p><a:r><a:t>%s</a:t></a:r></a:p></p:txBody></p:sp>`, n+2, html.EscapeString(p))
		}
		n := len(slides) + 1
		name := fmt.Sprintf("slides/slide%d.xml", n)
		fmt.Fprintf(&ids, `<p:sldId id="%d" r:id="rId%d"/>`, 255+n, n)
		slides = append(slides, entry{"ppt/" + name, xmlHead + `<p:sld ` + spaces + `><p:cSld><p:spTree>` +
			`<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>` +
			shapes.String() + `</p:spTree></p:cSld></p:sld>`})
		targets, types["ppt/"+name] = append(targets, name), "presentationml.slide"
	}
	return office("ppt/presentation.xml", "presentationml.presentation", append(slides,
		entry{"ppt/presentation.xml", xmlHead + `<p:presentation ` + spaces + `><p:sldIdLst>` + ids.String() + `</p:sldIdLst></p:presentation>`},
		entry{"ppt/_rels/presentation.xml.rels", relationships("slide", targets...)}), types)
}

func makeXLSX(passages []string) ([]byte, error) {
	var rows strings.Builder
	rows.WriteString(`<row r="1"><c r="A1" t="inlineStr"><is><t>number</t></is></c><c r="B1" t="inlineStr"><is><t>text</t></is></c></row>`)
	for i, p := range passages {
		fmt.Fprintf(&rows, `<row r="%d"><c r="A%[1]d"><v>%[2]d</v></c><c r="B%[1]d" t="inlineStr"><is><t>%[3]s</t></is></c></row>`,
			i+2, i, html.EscapeString(p))
	}
	const space = `xmlns="` + ooxml + `spreadsheetml/2006/main"`
	return office("xl/workbook.xml", "spreadsheetml.sheet", []entry{
		{"xl/workbook.xml", xmlHead + `<workbook ` + space + ` xmlns:r="` + relations + `"><sheets><sheet name="Report" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", relationships("worksheet", "worksheets/sheet1.xml")},
		{"xl/worksheets/sheet1.xml", xmlHead + `<worksheet ` + space + `><sheetData>` + rows.String() + `</sheetData></worksheet>`},
	}, map[string]string{"xl/worksheets/sheet1.xml": "spreadsheetml.worksheet"})
}

func makeODT(passages []string) ([]byte, error) {
	const space = "urn:oasis:names:tc:opendocument:xmlns:"
	var b strings.Builder
	for _, p := range passages {
		fmt.Fprintf(&b, "<text:p>%s</text:p>", html.EscapeString(p))
	}
	return makeZip(
		entry{"mimetype", "application/vnd.oasis.opendocument.text"},
		entry{"META-INF/manifest.xml", xmlHead + `<manifest:manifest xmlns:manifest="` + space + `manifest:1.0"/>`},
		entry{"content.xml", xmlHead + `<office:document-content xmlns:office="` + space + `office:1.0" xmlns:text="` + space +
			`text:1.0"><office:body><office:text>` + b.String() + `</office:text></office:body></office:document-content>`})
}
