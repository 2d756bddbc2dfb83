package office97

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestDOC_ReadsWhatLibreOfficeReads(t *testing.T) {
	modern := extracttest.Outline(extracttest.Read(t, "plan.docx", extracttest.LibreOffice(t, "plan.docx")))
	old := extracttest.Outline(extracttest.Read(t, "plan.doc", extracttest.LibreOffice(t, "plan.doc")))
	if diff := cmp.Diff(modern, old); diff != "" {
		t.Error(diff)
	}
	const lists = "H1 Numbers\nP A mole has 6·10²³ atoms of H₂O and costs 5,000¹ on the 1st day.\n" +
		"L a. first\nL b. second\nL i. inner one\nL ii. inner two\nP Between.\nL C. third\n"
	if diff := cmp.Diff(lists, extracttest.Outline(extracttest.Read(t, "lists.doc", extracttest.LibreOffice(t, "lists.doc")))); diff != "" {
		t.Error(diff)
	}
}

func TestDOC_ReadsSignsAndListsOfStyles(t *testing.T) {
	const want = `H1 Signs and lists
P The angle is 90°, the spread σ is ≤ 5, done ✓
P In the font: αβ (brackets stay).
L 1. first
L 2. second
P between
L 3. third
L • a bullet
`
	for _, name := range []string{"signs.doc", "signs.docx"} {
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, name, extracttest.LibreOffice(t, name)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// LibreOffice does not say in RTF that "ab" are signs.
	rtf := strings.Replace(want, "αβ", "ab", 1)
	if diff := cmp.Diff(rtf, extracttest.Outline(extracttest.Read(t, "signs.rtf", extracttest.LibreOffice(t, "signs.rtf")))); diff != "" {
		t.Error(diff)
	}
}

// Tables of a document that are cut anywhere, or filled with anything, are read as far as they go.
func TestDOC_SurvivesBrokenTables(t *testing.T) {
	data := extracttest.LibreOffice(t, "signs.doc")
	for at := 512; at < len(data); at += 37 {
		for _, c := range []byte{0, 0x7f, 0xff} {
			broken := bytes.Clone(data)
			for i := at; i < min(at+4, len(broken)); i++ {
				broken[i] = c
			}
			extracttest.CheckAnyInput(t, "a.doc", broken)
		}
	}
}

func TestDOC_SaysWhyItIsNotRead(t *testing.T) {
	data := extracttest.LibreOffice(t, "plan.doc")
	at := bytes.Index(data, []byte{0xec, 0xa5})
	locked := bytes.Clone(data)
	locked[at+fibFlags+1] |= 1
	extracttest.WantReason(t, "a.doc", locked, extract.Limits{}, extract.Encrypted)
	extracttest.WantReason(t, "a.doc", data, extract.Limits{TextBytes: 50}, extract.TooLarge)
	extracttest.WantReason(t, "a.doc", data[:2000], extract.Limits{}, extract.Damaged)
}

func FuzzDocument(f *testing.F) {
	f.Add(extracttest.LibreOffice(f, "plan.doc"))
	f.Add(extracttest.LibreOffice(f, "lists.doc"))
	f.Add(extracttest.LibreOffice(f, "signs.doc"))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.doc", data) })
}
