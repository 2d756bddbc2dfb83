package pdf

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rc4"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/extracttest"
)

func TestPDF_MakesBlocksOfLines(t *testing.T) {
	page := extracttest.Set("B", 16, 72, 740, "Coinsurance") +
		extracttest.SetLines(72, 710,
			"After you have met your deductible you are responsible for a share of",
			"the costs for covered services, which the plan calls coinsurance. The",
			"share is lower in-network.") +
		extracttest.SetLines(72, 655,
			"A second paragraph, set apart by space, which is long enough to need",
			"two lines.") +
		extracttest.Set("B", 11, 72, 610, "Exceptions to the rule") +
		extracttest.SetLines(72, 590, "These are not subject to coinsurance at all, whichever plan you chose:") +
		extracttest.SetLines(72, 570,
			"\x95 Preventive care, when it is given by a provider in the network, and",
			"also vaccinations") +
		extracttest.SetLines(72, 542, "\x95 Emergency services")
	want := `page 1
H1 Coinsurance
P After you have met your deductible you are responsible for a share of the costs for covered services, which the plan calls coinsurance. The share is lower in-network.
P A second paragraph, set apart by space, which is long enough to need two lines.
H2 Exceptions to the rule
P These are not subject to coinsurance at all, whichever plan you chose:
L • Preventive care, when it is given by a provider in the network, and also vaccinations
L • Emergency services
`
	doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF(page))
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "A made up report" {
		t.Errorf("title = %q", doc.Title)
	}
}

func TestPDF_PartsParagraphsWithoutSpaceBetweenThem(t *testing.T) {
	page := extracttest.SetLines(72, 700,
		"   The first paragraph starts here and runs on over the first line until",
		"it comes to an end in the second, somewhere in the middle of things.",
		"Short end.",
		"Another paragraph begins after the short line, and it is long enough to",
		"be sure about it.")
	want := "page 1\nP The first paragraph starts here and runs on over the first line until it comes to an end in the second, somewhere in the middle of things. Short end.\nP Another paragraph begins after the short line, and it is long enough to be sure about it.\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page)))); diff != "" {
		t.Error(diff)
	}
}

func TestPDF_JoinsDividedWordsAndKeepsHyphens(t *testing.T) {
	page := extracttest.SetLines(72, 700,
		"Your benefits depend on the plan. You may use out-of-pocket funds, or a",
		"well-known provider, but some bene-",
		"fits need an approval. Pay it out-of-",
		"pocket, or ask your Northwind-",
		"Standard team about a treat-",
		"ment of pages 3-",
		"5 of the book.")
	got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page)))
	for _, want := range []string{"some benefits need", "it out-of-pocket, or", "Northwind-Standard team", "a treatment of", "pages 3-5 of"} {
		if !strings.Contains(strings.ReplaceAll(got, "⏎", " "), want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestPDF_JoinsWhatIsBrokenAtASlash(t *testing.T) {
	read := func(lines ...string) string {
		return strings.ReplaceAll(extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(extracttest.SetLines(72, 700, lines...)))), "⏎", " ")
	}
	got := read("The server writes what it does there to the file that is named /var/",
		"log/messages. What happens elsewhere in the house stands at https://",
		"example.com/logs/ where all of it can be read by everybody, now and/",
		"or later, and what is left of it will stay in the folder /srv/www/",
		"until somebody removes it. Nothing else is kept by such a server of /",
		"or about the people who use it.")
	for _, want := range []string{"named /var/log/messages. What", "at https://example.com/logs/ where", "now and/or later", "/srv/www/ until", "of / or about"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	got = read("Most of the programs that people write with put a space at the end ",
		"of each of the lines, so that one can tell whether one ends in /var/",
		"log of something or behind the whole of its path, like in /srv/www/ ",
		"and all of the other lines that this text has up to its very end, ",
		"which comes with this line. ")
	for _, want := range []string{"in /var/log of", "in /srv/www/ and"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestPDF_ReadsATableByColumns(t *testing.T) {
	row := func(face string, y float64, cells ...string) string {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString(extracttest.Set(face, 11, 72+150*float64(i), y, c))
		}
		return b.String()
	}
	page := extracttest.SetLines(72, 740, "The table shows what a visit costs.") +
		row("B", 700, "Visit", "Plus", "Standard") +
		row("R", 684, "Primary care", "$35", "$45") +
		row("R", 668, "Specialist", "$60", "$70")
	want := "page 1\nP The table shows what a visit costs.\nTH Visit | Plus | Standard\nTR Primary care | $35 | $45\nTR Specialist | $60 | $70\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page)))); diff != "" {
		t.Error(diff)
	}
}

func TestPDF_DropsRunningHeadersAndPageNumbers(t *testing.T) {
	var pages []string
	for i := range 5 {
		pages = append(pages, extracttest.Set("R", 9, 72, 760, "Acme benefits handbook 2024")+
			extracttest.SetLines(72, 700, fmt.Sprintf("Text number %d of the handbook, which is like no other text.", i+1), "Goes on."+strings.Repeat(" again", i))+
			extracttest.Set("R", 9, 300, 40, fmt.Sprintf("Page %d of 5", i+1)))
	}
	got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(pages...)))
	if n := strings.Count(got, "Acme benefits handbook 2024"); n != 1 {
		t.Errorf("the running header stands %d times in %s", n, got)
	}
	if strings.Contains(got, "Page 3") {
		t.Errorf("page numbers in %s", got)
	}
	for i := range 5 {
		if !strings.Contains(got, fmt.Sprintf("Text number %d", i+1)) {
			t.Errorf("text of page %d is missing in %s", i+1, got)
		}
	}
}

// Every word of the text leads back to the characters of PDFium that spell it.
func TestPDF_MapsTextToCharacters(t *testing.T) {
	page := extracttest.Set("B", 16, 72, 740, "Coinsurance") +
		extracttest.SetLines(72, 700, "You pay a share of the bene-", "fits yourself, (after) the deductible.", "\x95 Emergency  services") +
		extracttest.Set("R", 11, 72, 600, "Plan") + extracttest.Set("R", 11, 300, 600, "Price") + extracttest.Set("R", 11, 450, 600, "Year") +
		extracttest.Set("R", 11, 72, 580, "Plus") + extracttest.Set("R", 11, 300, 580, "$5") + extracttest.Set("R", 11, 450, 580, "2024")
	checkCharMap(t, extracttest.MakePDF(page))
}

// checkCharMap compares each word of a document with what PDFium has at the characters that the
// word is mapped to, and returns the number of words.
func checkCharMap(t *testing.T, data []byte) int {
	t.Helper()
	doc := extracttest.Read(t, "a.pdf", data)
	p, err := newPDFium(extracttest.ParserCache, moduleMemory(extract.Limits{}.WithDefaults()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d, err := p.open(&extract.File{Content: bytes.NewReader(data), Size: int64(len(data)), Limits: extract.Limits{}.WithDefaults()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	words := 0
	for _, p := range doc.Pages {
		page := d.call("FPDF_LoadPage", d.handle, uint64(p.Number-1))
		text := d.call("FPDFText_LoadPage", page)
		offset := 0
		for word := range strings.FieldsSeq(p.Text) {
			offset += strings.Index(p.Text[offset:], word)
			chars := p.CharIndexes(offset, offset+len(word))
			offset += len(word)
			var spelled strings.Builder
			for _, c := range chars {
				r := rune(d.call("FPDFText_GetUnicode", text, uint64(c)))
				if r == 2 {
					r = '-'
				}
				for _, clean := range compose.CleanRune(r) {
					spelled.WriteRune(clean)
				}
			}
			if spelled.String() != word && word != "|" {
				t.Fatalf("page %d: %q at characters %v, where PDFium has %q", p.Number, word, chars, spelled.String())
			}
			words++
		}
		d.call("FPDFText_ClosePage", text)
		d.call("FPDF_ClosePage", page)
	}
	if d.err != nil {
		t.Fatal(d.err)
	}
	return words
}

func TestPDF_SaysWhyThereIsNoText(t *testing.T) {
	const scan = "q 600 0 0 700 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x7f EI Q"
	if e := extracttest.WantReason(t, "a.pdf", extracttest.MakePDF(scan, scan), extract.Limits{}, extract.ScanOnly); !strings.Contains(e.Detail, "2 pages") {
		t.Errorf("detail %q", e.Detail)
	}
	extracttest.WantReason(t, "a.pdf", extracttest.MakePDF("", ""), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.pdf", encryptedPDF("secret"), extract.Limits{}, extract.Encrypted)

	doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF(scan, extracttest.SetLines(72, 700, "Some text."), scan, scan))
	if diff := cmp.Diff([]string{"3 of 4 pages (1, 3–4) have no text layer; OCR makes them searchable"}, doc.Notes); diff != "" {
		t.Error(diff)
	}
	if doc.Pages[0].Number != 2 {
		t.Errorf("page number = %d, want 2", doc.Pages[0].Number)
	}
}

func TestPDF_OpensWithAnEmptyPassword(t *testing.T) {
	if got := extracttest.Outline(extracttest.Read(t, "a.pdf", encryptedPDF(""))); got != "page 1\nP Nobody knows.\n" {
		t.Errorf("got %q", got)
	}
}

// encryptedPDF encrypts a page by the standard security handler, revision 2 (ISO 32000-1, section
// 7.6.3), with a user password.
func encryptedPDF(password string) []byte {
	const padding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"
	encrypt := func(key []byte, text string) string {
		c, _ := rc4.NewCipher(key)
		out := make([]byte, len(text))
		c.XORKeyStream(out, []byte(text))
		return string(out)
	}
	padded := (password + padding)[:32]
	ownerKey := md5.Sum([]byte(padded))
	owner := encrypt(ownerKey[:5], padded)
	sum := md5.Sum([]byte(padded + owner + "\xfc\xff\xff\xff" + "id"))
	key := sum[:5]
	objectKey := md5.Sum(append(append([]byte{}, key...), 5, 0, 0, 0, 0))
	content := encrypt(objectKey[:10], extracttest.SetLines(72, 700, "Nobody knows."))
	return extracttest.PDFObjects(fmt.Sprintf("/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%x> /U <%x> >> /ID [<%x> <%x>]",
		owner, encrypt(key, padding), "id", "id"),
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /R 3 0 R >> >> >>",
		extracttest.PDFStream(content))
}

func TestPDF_FollowsStructureTags(t *testing.T) {
	tagged := func(mcid int, tag, content string) string {
		return fmt.Sprintf("/%s <</MCID %d>> BDC\n%sEMC\n", tag, mcid, content)
	}
	content := tagged(0, "H2", extracttest.Set("R", 11, 72, 740, "Same size as all the text")) +
		tagged(1, "P", extracttest.SetLines(72, 720, "A paragraph that the tags hold together, though its lines", "are short.")) +
		tagged(2, "TH", extracttest.Set("R", 11, 72, 660, "Plan")) + tagged(3, "TH", extracttest.Set("R", 11, 200, 660, "Price")) +
		tagged(4, "TD", extracttest.Set("R", 11, 72, 640, "Plus")) + tagged(5, "TD", extracttest.Set("R", 11, 200, 640, "$5"))
	element := func(kind string, kids string) string {
		return fmt.Sprintf("<< /Type /StructElem /S /%s /P 6 0 R /Pg 4 0 R /K [%s] >>", kind, kids)
	}
	data := extracttest.PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R /StructTreeRoot 6 0 R /MarkInfo << /Marked true >> >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /StructParents 0 /Resources << /Font << /R 3 0 R >> >> >>",
		extracttest.PDFStream(content),
		"<< /Type /StructTreeRoot /K [7 0 R 8 0 R 9 0 R 10 0 R] /ParentTree << /Nums [0 [7 0 R 8 0 R 11 0 R 12 0 R 13 0 R 14 0 R]] >> >>",
		element("H2", "0"), element("P", "1"),
		element("TR", "11 0 R 12 0 R"), element("TR", "13 0 R 14 0 R"),
		strings.Replace(element("TH", "2"), "/P 6", "/P 9", 1), strings.Replace(element("TH", "3"), "/P 6", "/P 9", 1),
		strings.Replace(element("TD", "4"), "/P 6", "/P 10", 1), strings.Replace(element("TD", "5"), "/P 6", "/P 10", 1),
	)
	want := "page 1\nH2 Same size as all the text\nP A paragraph that the tags hold together, though its lines are short.\nTH Plan | Price\nTR Plus | $5\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", data))); diff != "" {
		t.Error(diff)
	}
}

func TestPDF_KeepsLimits(t *testing.T) {
	pages := extracttest.MakePDF(extracttest.SetLines(72, 700, "One page."), extracttest.SetLines(72, 700, "Two pages."), extracttest.SetLines(72, 700, "Three."))
	extracttest.WantReason(t, "a.pdf", pages, extract.Limits{Pages: 2}, extract.TooLarge)
	extracttest.WantReason(t, "a.pdf", pages, extract.Limits{TextBytes: 15}, extract.TooLarge)

	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	x := &extract.Extractor{CacheDir: extracttest.ParserCache}
	defer x.Close()
	if _, err := x.File(ctx, extracttest.Input("a.pdf", pages)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("File after the deadline = %v", err)
	}
}

func TestSensibleTitle(t *testing.T) {
	for title, want := range map[string]string{
		"Annual  report\x00": "Annual report", "Microsoft Word - report.docx": "", "untitled": "", "Untitled-1": "",
		"report_v2.docx": "", "Document1": "", "PowerPoint Presentation": "", "12345": "", "保険の手引き": "保険の手引き",
		"": "", "http://example.org": "", "FORM_A_12": "",
	} {
		if got := compose.SensibleTitle(title); got != want {
			t.Errorf("sensibleTitle(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestPDF_ReadsFormsAndRemarks(t *testing.T) {
	appearance := func(text string) string {
		content := "BT /R 11 Tf 2 4 Td (" + text + ") Tj ET"
		return fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /R 3 0 R >> >> /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	data := extracttest.PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>",
		"<< /Type /Pages /Kids [4 0 R 11 0 R] /Count 2 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [6 0 R 8 0 R 9 0 R] /Resources << /Font << /R 3 0 R >> >> >>",
		extracttest.PDFStream(extracttest.Set("R", 11, 72, 700, "Name:")),
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada) /Rect [110 696 310 716] /F 4 /AP << /N 7 0 R >> >>",
		appearance("Ada Lovelace"),
		"<< /Type /Annot /Subtype /Text /Rect [400 700 420 720] /Contents (Is this her \\(full\\) name?) >>",
		"<< /Type /Annot /Subtype /FreeText /Rect [72 600 272 620] /F 4 /Contents (Approved by Ann) /AP << /N 10 0 R >> >>",
		appearance("Approved by Ann"),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Annots [12 0 R] >>",
		"<< /Type /Annot /Subtype /Highlight /Rect [72 600 272 620] /Contents (Only a remark) >>",
	)
	want := "page 1\nP Name:\nP Ada Lovelace Approved by Ann\nP Comment: Is this her (full) name?\npage 2\nP Comment: Only a remark\n"
	if got := extracttest.Outline(extracttest.Read(t, "a.pdf", data)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPDF_TakesAttachmentsOut(t *testing.T) {
	carrier := func(content string) []byte {
		return extracttest.PDFObjects("",
			"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(note.txt) 6 0 R] >> >> >>",
			"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
			"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /R 3 0 R >> >> >>",
			extracttest.PDFStream(content),
			"<< /Type /Filespec /F (note.txt) /UF (note.txt) /EF << /F 7 0 R >> >>",
			"<< /Type /EmbeddedFile /Length 9 /Params << /Size 9 >> >>\nstream\nAttached.\nendstream")
	}
	doc, got := extracttest.ReadParts(t, "a.pdf", carrier(extracttest.Set("R", 11, 72, 700, "See the note.")))
	if got != "note.txt = Attached.\n" || extracttest.Outline(doc) != "page 1\nP See the note.\n" {
		t.Errorf("parts %q, text %q", got, extracttest.Outline(doc))
	}
	if doc, got = extracttest.ReadParts(t, "a.pdf", carrier("")); got != "note.txt = Attached.\n" || len(doc.Pages) != 0 {
		t.Errorf("of a portfolio: parts %q, text %q", got, extracttest.Outline(doc))
	}
}
