package office97

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/extract/numfmt"
)

// word6 makes a document of Word 6 with a table, from the places and lengths that other programs' documents have.
func word6(text string, language uint16, charset byte, rowEnd int) []byte {
	const start = 0x300
	main := make([]byte, 6*page)
	put16, put32 := binary.LittleEndian.PutUint16, binary.LittleEndian.PutUint32
	put16(main, fibMagic95)
	put16(main[2:], 101)
	put16(main[fib6Language:], language)
	put32(main[fib6Text:], start)
	put32(main[fib6Lengths:], uint32(len(text)))
	copy(main[start:], text)
	table := func(place, at int, data []byte) {
		put32(main[place:], uint32(at))
		put32(main[place+4:], uint32(len(data)))
		copy(main[at:], data)
	}
	table(fib6Fonts, 0x500, []byte{10, 0, 7, 0, 0, 0, charset, 0, 'A', 0})
	table(fib6Paras, 0x520, []byte{0, 0, 0, 0, 0, 9, 0, 0, 4, 0})
	table(fib6Chars, 0x540, []byte{0, 0, 0, 0, 0, 9, 0, 0, 5, 0})
	paras := main[4*page : 5*page]
	heading := strings.IndexByte(text, '\r') + 1
	for i, at := range []int{start, start + heading, start + rowEnd - 1, start + rowEnd, start + len(text)} {
		put32(paras[4*i:], uint32(at))
	}
	for i, properties := range [][]byte{{3, 1, 0}, {3, 0, 0, 24, 1, 0}, {5, 0, 0, 15, 2, 7, 7, 24, 1, 25, 1}, {2, 0, 0}} {
		at := 200 + 40*i
		paras[20+7*i] = byte(at / 2)
		copy(paras[at:], properties)
	}
	paras[page-1] = 4
	chars := main[5*page:]
	for i, at := range []int{start, start + len(text) - 3, start + len(text) - 2, start + len(text)} {
		put32(chars[4*i:], uint32(at))
	}
	chars[17] = 100
	copy(chars[200:], []byte{4, 85, 1, 104, 1})
	chars[page-1] = 3
	return main
}

func TestDOC_ReadsWord6InItsCodePage(t *testing.T) {
	const text = "Title\rA\x07\xcf\xf0\x07\x07End of 10\x366\r"
	rowEnd := strings.Index(text, "\x07End") + 1
	for name, c := range map[string]struct {
		language uint16
		charset  byte
		cell     string
	}{
		"by its language": {0x419, 0, "Пр"}, "by its fonts": {0x409, 204, "Пр"}, "of the West": {0x409, 0, "Ïð"}, "French, whatever the fonts": {0x40c, 204, "Ïð"},
	} {
		main := word6(text, c.language, c.charset, rowEnd)
		got := extracttest.Outline(extracttest.Read(t, "a.doc", extracttest.Compound("WordDocument", main)))
		if want := "H1 Title\nTR A | " + c.cell + "\nP End of 10⁶6\n"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	wide := strings.Join(strings.Split("Wide\r", ""), "\x00") + "\x00"
	main := word6(wide, 0x411, 0, len(wide))
	binary.LittleEndian.PutUint16(main, 0xa699)
	binary.LittleEndian.PutUint32(main[fib6Lengths:], uint32(len(wide)/2))
	binary.LittleEndian.PutUint16(main[fibFlags:], docWide)
	if got := extracttest.Outline(extracttest.Read(t, "a.doc", extracttest.Compound("WordDocument", main))); !strings.Contains(got, "Wide") {
		t.Errorf("in two bytes: %q", got)
	}
	main = word6(text, 0x409, 0, rowEnd)
	main[fibFlags+1] = docEncrypted >> 8
	extracttest.WantReason(t, "a.doc", extracttest.Compound("WordDocument", main), extract.Limits{}, extract.Encrypted)
	main[fibFlags+1] = 0
	for at := range main {
		broken := bytes.Clone(main)
		broken[at] = 0xff
		extracttest.CheckAnyInput(t, "a.doc", extracttest.Compound("WordDocument", broken[:max(at, 100)]))
	}
}

// oldWorkbook makes a workbook of records: numbers, and what is in them.
func oldWorkbook(records ...any) (b []byte) {
	for i := 0; i+1 < len(records); i += 2 {
		body := []byte(records[i+1].(string))
		b = binary.LittleEndian.AppendUint16(b, uint16(records[i].(int)))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
		b = append(b, body...)
	}
	return b
}

func TestXLS_ReadsWorkbooksOfExcel2To4(t *testing.T) {
	const half, want = "\x00\x00\x00\x00\x00\x00\xe0\x3f", "TH Plan | Gold\nTR Plan: Price; Gold: 150\nTR Plan: Share; Gold: 50%\nTR Plan: Text; Gold: as is\n"
	for name, data := range map[string][]byte{
		"Excel 2": oldWorkbook(0x09, "\x02\x00\x10\x00", 0x1e, "\x07General", 0x1e, "\x020%", 0x04, "\x00\x00\x00\x00\x00\x00\x00\x04Plan", 0x04, "\x00\x00\x01\x00\x00\x00\x00\x04Gold",
			0x04, "\x01\x00\x00\x00\x00\x00\x00\x05Price", 0x02, "\x01\x00\x01\x00\x00\x00\x00\x96\x00", 0x04, "\x02\x00\x00\x00\x00\x00\x00\x05Share",
			0x03, "\x02\x00\x01\x00\x00\x01\x00"+half, 0x04, "\x03\x00\x00\x00\x00\x00\x00\x04Text", 0x06, "\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00", 0x07, "\x05as is", 0x0a, ""),
		"Excel 3": oldWorkbook(0x209, "\x00\x00\x10\x00\x00\x00", 0x1e, "\x07General", 0x1e, "\x020%", 0x243, "\x00\x00\x00", 0x243, "\x00\x01\x00", 0x204, "\x00\x00\x00\x00\x00\x00\x04\x00Plan", 0x204, "\x00\x00\x01\x00\x00\x00\x04\x00Gold",
			0x204, "\x01\x00\x00\x00\x00\x00\x05\x00Price", 0x27e, "\x01\x00\x01\x00\x00\x00\x5a\x02\x00\x00", 0x204, "\x02\x00\x00\x00\x00\x00\x05\x00Share",
			0x203, "\x02\x00\x01\x00\x01\x00"+half, 0x204, "\x03\x00\x00\x00\x00\x00\x04\x00Text", 0x206, "\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff", 0x207, "\x05\x00as is", 0x0a, ""),
		"Excel 4": oldWorkbook(0x409, "\x00\x00\x00\x01\x00\x00", 0x8f, "\x00\x00\x00\x00\x05Sheet", 0x409, "\x00\x00\x10\x00\x00\x00", 0x41e, "\x00\x00\x07General", 0x41e, "\x00\x00\x020%", 0x443, "\x00\x00\x00", 0x443, "\x00\x01\x00",
			0x204, "\x00\x00\x00\x00\x00\x00\x04\x00Plan", 0x204, "\x00\x00\x01\x00\x00\x00\x04\x00Gold", 0x409, "\x00\x00\x20\x00\x00\x00", 0x204, "\x00\x00\x01\x00\x00\x00\x05\x00Chart", 0x0a, "",
			0x204, "\x01\x00\x00\x00\x00\x00\x05\x00Price", 0x27e, "\x01\x00\x01\x00\x00\x00\x5a\x02\x00\x00", 0x204, "\x02\x00\x00\x00\x00\x00\x05\x00Share",
			0x203, "\x02\x00\x01\x00\x01\x00"+half, 0x204, "\x03\x00\x00\x00\x00\x00\x04\x00Text", 0x406, "\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff", 0x207, "\x05\x00as is", 0x0a, "", 0x0a, ""),
	} {
		rows := want
		if name == "Excel 4" {
			rows = "H1 Sheet\n" + want
		}
		if got := extracttest.Outline(extracttest.Read(t, "a.xls", data)); got != rows {
			t.Errorf("%s: got %q", name, got)
		}
		for at := range data {
			broken := bytes.Clone(data)
			broken[at] ^= 0xff
			extracttest.CheckAnyInput(t, "a.xls", broken)
		}
	}
	extracttest.WantReason(t, "a.xls", oldWorkbook(0x409, "\x00\x00\x10\x00\x00\x00", 0x2f, "\x01\x02\x03\x04"), extract.Limits{}, extract.Encrypted)
}

func TestDOC_ReadsHeadersWhereThereIsNothingElse(t *testing.T) {
	f, all := streamsOf(t, "plan.doc", extracttest.LibreOffice(t, "plan.doc"), "WordDocument", "1Table")
	main := all[0]
	whole, err := readWord(t.Context(), f, bytes.Clone(main), all[1])
	if err != nil {
		t.Fatal(err)
	}
	// What was the text is said to be the header.
	copy(main[fibLengths+4*docHeaders:], main[fibLengths:fibLengths+4])
	binary.LittleEndian.PutUint32(main[fibLengths:], 0)
	for part := 1; part <= docBoxes; part++ {
		if part != docHeaders {
			binary.LittleEndian.PutUint32(main[fibLengths+4*part:], 0)
		}
	}
	header, err := readWord(t.Context(), f, main, all[1])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := extracttest.Outline(header), extracttest.Outline(whole); len(got) < 100 || !strings.HasPrefix(want, got) {
		t.Errorf("got %q of %q", got, want)
	}
}

func TestXLS_KeepsNoMoreFormatsThanStylesName(t *testing.T) {
	x := oldXLSReader{xlsReader: xlsReader{page: "windows-1252", formats: map[int]numfmt.Format{}}}
	for range 1000 {
		x.modern(oldFormat, []byte("\x010"))
	}
	if n := len(x.formats); n != 256 {
		t.Errorf("%d formats", n)
	}
}

func FuzzOldWorkbook(f *testing.F) {
	f.Add(oldWorkbook(0x209, "\x00\x00\x10\x00\x00\x00", 0x1e, "\x07General", 0x243, "\x00\x00\x00", 0x204, "\x00\x00\x00\x00\x00\x00\x04\x00Plan", 0x203, "\x02\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\xe0\x3f", 0x0a, ""))
	f.Add(oldWorkbook(0x09, "\x02\x00\x10\x00", 0x1e, "\x07General", 0x04, "\x00\x00\x00\x00\x00\x00\x00\x04Plan", 0x02, "\x01\x00\x01\x00\x00\x00\x00\x96\x00", 0x07, "\x05as is", 0x0a, ""))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.xls", data) })
}

func FuzzWord6(f *testing.F) {
	f.Add(word6("Title\rA\x07\xcf\xf0\x07\x07End of 10\x366\r", 0x419, 0, 11))
	f.Fuzz(func(t *testing.T, data []byte) {
		extracttest.CheckAnyInput(t, "a.doc", extracttest.Compound("WordDocument", data))
	})
}
