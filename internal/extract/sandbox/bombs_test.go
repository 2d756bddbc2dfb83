package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

// Small files whose markup asks for much: cells that reach into all rows, and items of many lines.
func TestFile_MakesNoMoreOfMarkupThanThereIs(t *testing.T) {
	rows := strings.Repeat("<tr>"+strings.Repeat("<td colspan=100 rowspan=100>", 10)+strings.Repeat("<tr><td>x", 100), 150)
	for name, text := range map[string]string{
		"a.html": "<table>" + rows + "</table>",
		"a.wiki": "<ul><li>" + strings.Repeat("a\n", 150_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := extracttest.TryRead(t, name, []byte(text), extract.Limits{})
		runtime.ReadMemStats(&after)
		const share = 400 // for each byte
		if took := after.TotalAlloc - before.TotalAlloc; err != nil || took > share*uint64(len(text)) {
			t.Errorf("%s of %d KiB took %d MiB, %v", name, len(text)>>10, took>>20, err)
		}
	}
}

// millionEntries is an archive whose directory lists a million files, all of them the same.
func millionEntries() []byte {
	local := []byte("PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00a")
	entry := make([]byte, 47)
	copy(entry, "PK\x01\x02\x14\x00\x14\x00")
	entry[28], entry[46] = 1, 'a'
	const n = 1_000_000
	out := append(slices.Clone(local), bytes.Repeat(entry, n)...)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	const claimed = n % 65536 // what the reader compares with
	binary.LittleEndian.PutUint16(end[8:], claimed)
	binary.LittleEndian.PutUint16(end[10:], claimed)
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(entry)))
	binary.LittleEndian.PutUint32(end[16:], uint32(len(local)))
	return append(out, end...)
}

// flateStream is a PDF stream that unpacks to a text n times.
func flateStream(t testing.TB, text string, n int) string {
	t.Helper()
	packed := append([]byte("\x78\x01"), extracttest.Deflated(t, "", text, n, "")...)
	packed = binary.BigEndian.AppendUint32(packed, extracttest.Checksum(adler32.New(), text, n))
	return fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", len(packed), packed)
}

// onePage is a document of one page with a content stream.
func onePage(stream string) []byte {
	return extracttest.PDFObjects("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /R 3 0 R >> >> >>", stream)
}

// parquetText is a text of n bytes as a page has it.
func parquetText(n int) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(n)), bytes.Repeat([]byte("a"), n)...)
}

// parquetGzip is such a text, compressed.
func parquetGzip(t testing.TB, n int) []byte {
	t.Helper()
	return extracttest.Gzipped(t, "", parquetText(n))
}

// deepPages is a page tree that goes down n levels.
func deepPages(n int) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>"}
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf("/Parent %d 0 R", i+1)
		}
		objects = append(objects, fmt.Sprintf("<< /Type /Pages %s /Kids [%d 0 R] /Count 1 >>", parent, i+3))
	}
	return extracttest.PDFObjects("", append(objects, fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 9 9] >>", n+1))...)
}

// sparseTAR claims a file of 1 TiB that is one hole, as GNU tar wrote it before POSIX had such.
func sparseTAR() []byte {
	h := make([]byte, 512)
	size := []byte{0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0} // 1 TiB in base 256
	for at, field := range map[int]string{
		0: "hole.txt", 100: "0000644\x00", 124: "00000000000\x00", 136: "00000000000\x00", 148: "        ", 156: "S",
		257: "ustar  \x00", 386: string(size), 398: "00000000000\x00", 483: string(size),
	} {
		copy(h[at:], field)
	}
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return slices.Concat(h, make([]byte, 1024))
}

const laughs = `<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">` +
	`<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">]>`

// bombs are files that unpack to much, or make parsers go deep or far. Without a reason
// the file may give a document.
func bombs(t testing.TB) map[string]bomb {
	t.Helper()
	const many = 200_000_000
	gz := append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), extracttest.Deflated(t, "", "a", many, "")...)
	gz = binary.LittleEndian.AppendUint32(gz, extracttest.Checksum(crc32.NewIEEE(), "a", many))
	gz = binary.LittleEndian.AppendUint32(gz, many)
	bz, err := hex.DecodeString(zerosBzip2)
	if err != nil {
		t.Fatal(err)
	}
	xlsx := []string{"xl/workbook.xml", `<workbook xmlns:r="` + extracttest.OfficeNS + `"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", extracttest.RelsStart + extracttest.Rel("r1", "worksheet", "worksheets/sheet1.xml") + extracttest.RelsEnd}
	epub := []string{"META-INF/container.xml", extracttest.EpubContainer, "OEBPS/book.opf", extracttest.EpubPackageXML}
	odt := []string{"mimetype", "application/vnd.oasis.opendocument.text"}
	return map[string]bomb{
		"zip 1:1000":             {"a.zip", extracttest.BombZIP(t, "a.txt", "", "a", many, ""), extract.TooLarge},
		"zip, a million entries": {"a.zip", millionEntries(), extract.TooLarge},
		"docx 1:1000":            {"a.docx", extracttest.BombZIP(t, "word/document.xml", extracttest.DocxStart+"<w:p><w:r><w:t>", "a", many, "</w:t></w:r></w:p>"+extracttest.DocxEnd), extract.TooLarge},
		"docx of paragraphs":     {"a.docx", extracttest.BombZIP(t, "word/document.xml", extracttest.DocxStart, extracttest.Para("", "a"), 500_000, extracttest.DocxEnd), ""},
		"docx, deep":             {"a.docx", extracttest.BombZIP(t, "word/document.xml", extracttest.DocxStart, "<w:p>", 1_000_000, ""), extract.Damaged},
		"docx, deep elements":    {"a.docx", extracttest.BombZIP(t, "word/document.xml", extracttest.DocxStart, "<x>", 2_000_000, ""), ""},
		"xlsx 1:1000":            {"a.xlsx", extracttest.BombZIP(t, "xl/worksheets/sheet1.xml", "<sheetData><row><c t=\"str\"><v>", "a", many, "</v></c></row>", xlsx...), extract.TooLarge},
		"xlsx of empty rows":     {"a.xlsx", extracttest.BombZIP(t, "xl/worksheets/sheet1.xml", "<sheetData>", "<row/>", 12_000_000, "", xlsx...), extract.TooLarge},
		"xlsx, strings":          {"a.xlsx", extracttest.BombZIP(t, "xl/sharedStrings.xml", "<sst>", "<si><t>"+strings.Repeat("a", 100)+"</t></si>", 500_000, "</sst>", xlsx...), extract.TooLarge},
		"odt 1:1000":             {"a.odt", extracttest.BombZIP(t, "content.xml", extracttest.OdfStart+"<office:text><text:p>", "a", many, "", odt...), extract.TooLarge},
		"epub 1:1000":            {"a.epub", extracttest.BombZIP(t, "OEBPS/one.xhtml", "<p>", "a", many, "", epub...), extract.TooLarge},
		"xml, entities":          {"a.xml", []byte(laughs + "<l>&f;</l>"), ""}, // entities inside entities are not expanded
		"docx, entities":         {"a.docx", extracttest.MakeZIP(t, "word/document.xml", laughs+extracttest.DocxStart+extracttest.Para("", "&f;")+extracttest.DocxEnd), extract.Damaged},
		"odt, entities":          {"a.odt", extracttest.MakeZIP(t, append(odt, "content.xml", laughs+extracttest.OdfStart+"<office:text><text:p>&f;")...), extract.Damaged},
		"gzip 1:1000":            {"a.txt.gz", gz, extract.TooLarge},
		"bzip2 1:1000000":        {"a.txt.bz2", bz, extract.TooLarge},
		"tar, a hole":            {"a.tar", sparseTAR(), extract.TooLarge},
		"json, deep":             {"a.json", bytes.Repeat([]byte(`{"a":[`), 3_000_000), extract.TooLarge},
		"json, wide":             {"a.json", append([]byte("["), bytes.Repeat([]byte("1,"), 15_000_000)...), ""},
		"rtf, deep":              {"a.rtf", append([]byte(`{\rtf1`), bytes.Repeat([]byte("{"), 10_000_000)...), extract.Damaged},
		"html, deep":             {"a.html", bytes.Repeat([]byte("<div>"), 1_000_000), ""},
		"html, tables":           {"a.html", bytes.Repeat([]byte("<table><tr><td>"), 500_000), ""},
		"xml, deep":              {"a.xml", bytes.Repeat([]byte("<a>"), 10_000_000), extract.Damaged},
		"mail, deep":             {"a.eml", deepMail(10_000), ""},
		"wiki, brackets":         {"a.wiki", bytes.Repeat([]byte("{{a|[[b|"), 900_000), ""},
		"csv, one row":           {"a.csv", bytes.Repeat([]byte("a,"), 15_000_000), ""},
		"text, one line":         {"a.txt", bytes.Repeat([]byte("word "), 6_000_000), ""},
		"parquet 1:1000":         {"a.parquet", extracttest.Parquet(0, 2, 1, extracttest.ParquetPage(0, 1, 0, many+4, parquetGzip(t, many))), extract.TooLarge},
		"parquet, a dictionary":  {"a.parquet", extracttest.Parquet(0, 0, 30_000_000, extracttest.ParquetPage(2, 1, 0, 1<<20+4, parquetText(1<<20)), extracttest.ParquetPage(0, 30_000_000, 8, 6, []byte("\x01\x80\x8e\xce\x1c\x00"))), extract.TooLarge},
		"parquet of nothing":     {"a.parquet", extracttest.Parquet(1, 0, 30_000_000, extracttest.ParquetPage(0, 30_000_000, 0, 9, []byte("\x05\x00\x00\x00\x80\x8e\xce\x1c\x00"))), ""},
		"parquet, empty pages":   {"a.parquet", extracttest.Parquet(0, 0, 1, bytes.Repeat(extracttest.ParquetPage(0, 0, 0, 0, nil), 5_000_000)), extract.Damaged},
		"parquet, columns":       {"a.parquet", extracttest.ParquetFooter(nil, extracttest.Thrift(2, slices.Repeat([][]byte{extracttest.Thrift(1, 6)}, 10_000_000))), extract.TooLarge},
		"pdf, 1 GB stream":       {"a.pdf", onePage(flateStream(t, " ", 1_000_000_000)), ""},
		"pdf, words":             {"a.pdf", onePage(flateStream(t, "BT /R 9 Tf (word) Tj ET ", 10_000_000)), ""},
		"pdf, deep pages":        {"a.pdf", deepPages(50_000), ""},
		"pdf, circle of pages":   {"a.pdf", extracttest.PDFObjects("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>"), ""},
		"pdf, circle of objects": {"a.pdf", extracttest.PDFObjects("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox 4 0 R /Contents 4 0 R /Resources 4 0 R >>", "4 0 R"), ""},
	}
}

type bomb struct {
	name string
	data []byte
	want extract.Reason
}

// deepMail is a message in a message in a message.
func deepMail(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	return []byte(b.String())
}

// TestBombs_EndWithAReasonWithinTheLimits holds row S6 of the hardening guide: every bomb ends in
// the default time and memory, and with a reason where it is no document.
func TestBombs_EndWithAReasonWithinTheLimits(t *testing.T) {
	if testing.Short() || needs.Race {
		t.Skip("it makes gigabytes, and the race detector needs most of a worker's memory for itself")
	}
	for name, b := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each file has a worker of its own, with its own limits
			o, peak := readInChild(t, b)
			got := extract.Reason("")
			switch {
			case o.Refused != nil:
				got = o.Refused.Reason
				if o.Refused.Detail == "" {
					t.Error("no detail")
				}
			case o.Failed != "":
				t.Fatal(o.Failed)
			case len(o.Document.Parts) == 1 && o.Document.Parts[0].Refused != nil:
				got = o.Document.Parts[0].Refused.Reason
			}
			t.Logf("%s %v, peak %d MiB", got, o.Refused, peak>>20)
			if b.want != "" && got != b.want {
				t.Errorf("got %q (%v), want %q", got, o.Refused, b.want)
			}
			if peak > 512<<20 {
				t.Errorf("it took %d MiB", peak>>20)
			}
		})
	}
}

// readInChild reads a file in a worker of its own, with the default limits, and returns the most
// memory that the worker had.
func readInChild(t *testing.T, b bomb) (o outcome, peak int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stored")
	if err := os.WriteFile(path, b.data, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newTestPool(t, Options{Workers: 1})
	c, err := p.take(job{}, true)
	if err != nil {
		t.Fatal(err)
	}
	j, err := p.job(extract.Request{Name: b.name, Path: path, Spool: filepath.Join(t.TempDir(), "spool")})
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan int64)
	go func() { // ends with the child
		for {
			peak = max(peak, memoryPeak(c.process.Pid))
			select {
			case <-c.ended:
				watched <- peak
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	r, _, err := p.run(t.Context(), c, j)
	switch {
	case err == nil:
		o.Document = r.Document
	case !errors.As(err, &o.Refused):
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return o, <-watched
}

// memoryPeak is the most memory that a running process has had, in bytes; 0 when the system does not
// tell. What the system says of a process that has ended counts its parent at the fork.
func memoryPeak(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib << 10
}

// zerosBzip2 unpacks to 100,000,000 zero bytes.
const zerosBzip2 = "425a68393141592653590e09e2df015f8e4000c0000008200030804d4642a025a90a80973141592653590e09e2df015f8e4000c0000008200030804d4642a025a90a8097314159265359c4600a55003ed14002c00000400008200030cc09aa69a548836a2a441e2ee48a70a121c0a8892e"
