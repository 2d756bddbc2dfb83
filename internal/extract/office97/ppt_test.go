package office97

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"parley/internal/extract"
	"parley/internal/extract/cfb"
	"parley/internal/extract/extracttest"
)

func TestPPT_ReadsWhatLibreOfficeWrote(t *testing.T) {
	doc := extracttest.Read(t, "a.ppt", extracttest.CompoundFile(t, "slides.ppt.gz"))
	const want = `page 1
H1 Lost keys
P What to do
page 2
H1 Ключи and prices
P Keys are replaced for €45.
P Ask at the front desk.
H2 Notes
P Say that the fee has risen.
page 3
P A plain box⏎of two lines
P and a second paragraph.
P Item
P Price
P Key
P 45
`
	if got := extracttest.Outline(doc); got != want {
		t.Errorf("got %s", got)
	}
	if doc.Format != "PowerPoint 97–2003" {
		t.Errorf("it is read as %q", doc.Format)
	}
}

func TestPPT_ReadsALineOfTextOfLibreOffice(t *testing.T) {
	doc := extracttest.Read(t, "a", extracttest.CompoundFile(t, "libreoffice.ppt.gz")) // known without its name
	if got := extracttest.Outline(doc); doc.Format != "PowerPoint 97–2003" || strings.Count(got, "\n") < 2 {
		t.Errorf("%s: %s", doc.Format, got)
	}
}

// slides is the stream with the slides of that file.
func slides(t testing.TB) []byte {
	t.Helper()
	data := extracttest.CompoundFile(t, "slides.ppt.gz")
	c, err := cfb.Open(strings.NewReader(string(data)), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return c.Root().Named("PowerPoint Document").Bytes(1 << 20)
}

func TestPPT_ReadsOneThatDoesNotNameItsLastEdit(t *testing.T) {
	doc := extracttest.Read(t, "a.ppt", extracttest.Compound("PowerPoint Document", slides(t)))
	if got := extracttest.Outline(doc); !strings.Contains(got, "Say that the fee has risen.") {
		t.Errorf("got %s", got)
	}
}

func TestPPT_KeepsWithinItsLimitsAndSaysWhatIsWrong(t *testing.T) {
	data := extracttest.CompoundFile(t, "slides.ppt.gz")
	extracttest.WantReason(t, "a.ppt", data, extract.Limits{TextBytes: 50}, extract.TooLarge)
	extracttest.WantReason(t, "a.ppt", data[:3000], extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.ppt", extracttest.Compound("PowerPoint Document", slides(t)[:2000]), extract.Limits{}, extract.Damaged)
	sealed := strings.Replace(string(data), string(binary.LittleEndian.AppendUint32(nil, 0xe391c05f)), string(binary.LittleEndian.AppendUint32(nil, currentSealed)), 1)
	extracttest.WantReason(t, "a.ppt", []byte(sealed), extract.Limits{}, extract.Encrypted)
}

// FuzzSlides changes the records of a presentation in a compound file that is sound.
func FuzzSlides(f *testing.F) {
	record := func(version, kind uint16, body string) string {
		head := binary.LittleEndian.AppendUint16(nil, version)
		head = binary.LittleEndian.AppendUint16(head, kind)
		return string(binary.LittleEndian.AppendUint32(head, uint32(len(body)))) + body
	}
	words := func(all ...uint32) string {
		var b []byte
		for _, w := range all {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return string(b)
	}
	list := record(0xf, pptList, record(0, pptListed, words(2, 0, 1, 256, 0))+record(0, pptTextType, words(0))+record(0, pptTextBytes, "Title"))
	document := record(0xf, pptDocument, list)
	slide := record(0xf, pptSlide, record(0xf, clientText, record(0, pptOutline, words(0)))+record(0xf, clientText, record(0, pptTextWide, "a\x00\r\x00b\x00")))
	directory := record(0, pptPersist, words(2<<20|1, 0, uint32(len(document))))
	edit := record(0, pptUserEdit, words(0, 0, 0, uint32(len(document+slide)), 1))
	small := document + slide + directory + edit
	if doc, err := extracttest.TextOf(f, "a.ppt", extracttest.Compound("PowerPoint Document", []byte(small))); err != nil || !strings.Contains(doc, "Title") {
		f.Fatalf("the seed is read as %q: %v", doc, err)
	}
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		extracttest.CheckAnyInput(t, "a.ppt", extracttest.Compound("PowerPoint Document", data))
	})
}

// PowerPoint 97 could save a file that PowerPoint 95 reads, too. What is newer is in a storage.
func TestPPT_ReadsTheNewerOfTwoForms(t *testing.T) {
	data := extracttest.Compound("PowerPoint Document", slides(t), "PP97_DUALSTORAGE")
	entry := func(name string) []byte {
		at := bytes.Index(data, utf16Bytes(name))
		return data[at : at+128]
	}
	const kind, next, child, none = 66, 72, 76, 0xffffffff
	entry("PP97_DUALSTORAGE")[kind] = 1
	binary.LittleEndian.PutUint32(entry("PP97_DUALSTORAGE")[child:], 1)
	binary.LittleEndian.PutUint32(entry("PowerPoint Document")[next:], none)
	binary.LittleEndian.PutUint32(entry("Root Entry")[child:], 2)
	if doc := extracttest.Read(t, "a.ppt", data); len(doc.Pages) == 0 {
		t.Error("no slides")
	}
}

func utf16Bytes(s string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}
