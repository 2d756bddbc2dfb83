package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"strings"
)

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

// office makes a Microsoft Office file, whose parts declare their content types.
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

// relationships makes a part with targets of one type, named rId1, rId2 and so on.
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

func makeWordXML(passages []string) ([]byte, error) {
	var b strings.Builder
	for _, p := range passages {
		fmt.Fprintf(&b, "<w:p><w:r><w:t>%s</w:t></w:r></w:p>\n", html.EscapeString(p))
	}
	return []byte(xmlHead + `<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"><w:body>` + b.String() +
		`</w:body></w:wordDocument>`), nil
}

func makeExcelXML(passages []string) ([]byte, error) {
	var b strings.Builder
	row := func(number, text string) {
		fmt.Fprintf(&b, `<Row><Cell><Data ss:Type="String">%s</Data></Cell><Cell><Data ss:Type="String">%s</Data></Cell></Row>`+"\n", number, text)
	}
	row("number", "text")
	for i, p := range passages {
		row(fmt.Sprint(i), html.EscapeString(p))
	}
	const space = "urn:schemas-microsoft-com:office:spreadsheet"
	return []byte(xmlHead + `<Workbook xmlns="` + space + `" xmlns:ss="` + space + `"><Worksheet ss:Name="Report"><Table>` + b.String() +
		`</Table></Worksheet></Workbook>`), nil
}
