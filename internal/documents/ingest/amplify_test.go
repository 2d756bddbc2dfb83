package ingest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/test/needs"
)

// realBench has a bench read files as the program does, in workers.
func realBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	options := sandbox.Options{Workers: 1, CacheDir: needs.ParserCache()}
	if needs.Race {
		options.Limits.MemoryBytes = 2 << 30 // the race detector keeps several bytes for each one
	}
	pool := sandbox.NewPool(options)
	t.Cleanup(func() { pool.Close() })
	b.cfg.Extractor, b.cfg.Workers = pool, 1
	return b
}

// packed makes an archive of files, by name and content in turn, as small as it can be.
func packed(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i+1 < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// nested packs a file into archives inside archives.
func nested(t *testing.T, depth, wide int, name, content string) string {
	t.Helper()
	for range depth {
		var files []string
		for i := range wide {
			files = append(files, fmt.Sprintf("%d-%s", i, name), content)
		}
		name, content = "in.zip", packed(t, files...)
	}
	return content
}

// amplifiers returns small files that become much larger when read, each in the way of its format.
func amplifiers(t *testing.T) map[string]string {
	t.Helper()
	const (
		ns    = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"`
		words = "The quick brown fox jumps over the lazy dog of the harbour. "
		rel   = `<Relationship Id="r%d" Type="http://x/officeDocument/2006/relationships/%s" Target="%s"/>`
	)
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	rows := `<table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000"><text:p>abcdefgh</text:p></table:table-cell></table:table-row>`
	sheet := `<office:document-content ` + ns + `><office:body><office:spreadsheet><table:table table:name="S">` + many(40, rows) + `</table:table></office:spreadsheet></office:body></office:document-content>`
	book, spine := strings.Builder{}, many(5000, `<itemref idref="a"/>`)
	fmt.Fprintf(&book, `<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>%s</spine></package>`, spine)
	text := many(70_000, words)
	return map[string]string{
		"repeated.ods": packed(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml", sheet),
		"repeated.odt": packed(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml",
			`<office:document-content `+ns+`><office:body><office:text>`+many(60_000, `<text:p>a<text:s text:c="100"/>b `+words+`</text:p>`)+`</office:text></office:body></office:document-content>`),
		"strings.xlsx": packed(t, "[Content_Types].xml", "<Types/>", "xl/workbook.xml",
			`<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", "<Relationships>"+fmt.Sprintf(rel, 1, "worksheet", "worksheets/sheet1.xml")+"</Relationships>",
			"xl/sharedStrings.xml", "<sst><si><t>"+many(300, words)+"</t></si></sst>",
			"xl/worksheets/sheet1.xml", "<worksheet><sheetData>"+many(5000, `<row><c t="s"><v>0</v></c></row>`)+"</sheetData></worksheet>"),
		"spine.epub": packed(t, "META-INF/container.xml", `<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>`,
			"b.opf", book.String(), "a.xhtml", "<html><body>"+many(50, "<p>"+words+"</p>")+"</body></html>"),
		"paragraphs.docx": packed(t, "[Content_Types].xml", "<Types/>", "word/document.xml",
			`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+
				many(100_000, "<w:p><w:r><w:t>"+words+"</w:t></w:r></w:p>")+`</w:body></w:document>`),
		"text.zip":     packed(t, "a.txt", text),
		"same.zip":     nested(t, 1, 12, "a.txt", many(10_000, words)),
		"deep.zip":     nested(t, 3, 8, "a.txt", many(3000, words)),
		"archives.zip": nested(t, 2, 30, "a.ods", packed(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml", sheet)),
		"csv.zip":      packed(t, "a.csv", "a,b\n"+many(150_000, "one,two\n")+many(30_000, words+",x\n")),
		"json.zip":     packed(t, "a.json", "["+many(60_000, `{"a":"`+words+`"},`)+"1]"),
		"html.zip":     packed(t, "a.html", "<table>"+many(2000, `<tr><td rowspan=1000 colspan=100>`+many(30, words))+"</table>"),
		"wiki.zip":     packed(t, "a.wiki", many(80_000, "* "+words+"\n")),
		"mail.zip":     packed(t, "a.eml", "From: a@b\nTo: c@d\nSubject: x\nDate: Mon, 1 Jan 2024 00:00:00 +0000\n\n"+many(70_000, words+"\n")),
	}
}

// TestRun_KeepsAnOutermostFileWithinABudgetOfItsSize reads small files that grow in every way. The
// chunks of each must stay within a limit, and the reason in the report must say so.
func TestRun_KeepsAnOutermostFileWithinABudgetOfItsSize(t *testing.T) {
	for name, data := range amplifiers(t) {
		t.Run(name, func(t *testing.T) {
			b := realBench(t)
			b.write("docs/"+name, data)
			b.write("docs/honest.txt", "The harbour office opens at nine.")
			outcomes := map[string]Outcome{}
			b.cfg.Outcome = func(o Outcome) { outcomes[o.Path] = o }
			report := b.run("docs")
			chunks, stored := 0, 0
			for _, put := range b.corpus.docs {
				for _, c := range put.Chunks {
					chunks++
					stored += len(c.Text)
				}
			}
			limit := newBudget(int64(len(data)), New(Config{}).cfg)
			t.Logf("%d bytes gave %d chunks of %d bytes in %v: %s", len(data), chunks, stored, report.Duration, outcomes[name].Detail)
			if int64(chunks) > limit.chunks+1 || int64(stored) > limit.stored {
				t.Errorf("%d bytes gave %d chunks of %d bytes", len(data), chunks, stored)
			}
			if o := outcomes["honest.txt"]; o.DocumentID == "" {
				t.Errorf("the file beside it was not indexed: %+v", o)
			}
			refused := 0
			for _, o := range outcomes {
				if o.Reason == extract.TooLarge || o.Reason == extract.Timeout {
					refused++
				}
				if o.Reason == extract.Empty {
					t.Errorf("%s is said to be empty", o.Path)
				}
			}
			if refused == 0 {
				t.Errorf("nothing was refused: %+v", outcomes)
			}
		})
	}
}

// Small honest files have enough room, even if they repeat themselves.
func TestRun_HasRoomForHonestFilesThatRepeatThemselves(t *testing.T) {
	var log, table strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&log, "2026-11-22T10:%02d:%02d host app[%d]: GET /api/v1/orders/%d 200 %dms\n", i/60%60, i%60, 1000+i%7, i*7919%100_000, i%40)
		if i < 10_000 {
			fmt.Fprintf(&table, "Branch %d,Open,Monday to Friday,No,None,None\n", i%50)
		}
	}
	for name, data := range map[string]string{
		"logs.zip":  packed(t, "app.log", log.String()),
		"table.zip": packed(t, "table.csv", "Name,State,Days,Closed,Remarks,Notes\n"+table.String()),
		"small.zip": packed(t, "a.txt", "Alpha.", "b/c.txt", "Beta."),
	} {
		b := realBench(t)
		b.write("docs/"+name, data)
		r := b.run("docs")
		if len(r.Skipped)+len(r.Failed) > 0 || r.Indexed == 0 {
			t.Errorf("%s of %d bytes: %+v", name, len(data), r)
		}
		t.Logf("%s of %d bytes gave %d chunks", name, len(data), r.Chunks)
	}
}
