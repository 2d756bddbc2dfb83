package mail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestMSG_ReadsTheMessageAndTakesAttachmentsOut(t *testing.T) {
	in := extracttest.Input("a.msg", extracttest.CompoundFile(t, "poi-message.msg"))
	in.Spool = t.TempDir()
	doc, err := (&extract.Extractor{CacheDir: extracttest.ParserCache}).File(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := "P From: Ann <ann@example.org>⏎To: Bob⏎Date: Tuesday, 2024-03-05 14:30 +0000⏎Subject: A subject\n" +
		"P Café at noon.\nP Ann\nP Attachments: re_port.txt, Inner.eml\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	mail, err := os.ReadFile(filepath.Join(in.Spool, extract.PartName(1)))
	if err != nil {
		t.Fatal(err)
	}
	in = extracttest.Input("Inner.eml", mail)
	in.Spool = t.TempDir()
	if doc, err = (&extract.Extractor{CacheDir: extracttest.ParserCache}).File(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want = "P From: Bob⏎Subject: Inner\nP Inner body, on one line.\nP Attachments: deep.txt\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if data, err := os.ReadFile(filepath.Join(in.Spool, extract.PartName(0))); err != nil || string(data) != "Deep." {
		t.Errorf("%q, %v", data, err)
	}
}

func TestMSG_ReadsWhatAnotherProgramWrote(t *testing.T) {
	for name, want := range map[string]string{
		"oxmsg-message.msg": "P From: Ann Ørsted <ann@example.org>⏎To: Bob;chris@example.org⏎Cc: Дора⏎Date: Tuesday, 2024-03-05 14:30 +0000⏎Subject: RE: Plan 山田\n" +
			"P Text that the page repeats.\nP Attachments: re_port.txt\n",
		// The page of a draft lies in compressed RTF, most of which refers back to what it said before.
		"oxmsg-draft.msg": "P From: Ann Ørsted <ann@example.org>⏎To: Bob;chris@example.org⏎Cc: Дора⏎Date: Tuesday, 2024-03-05 14:30 +0000⏎Subject: Draft\n" +
			"P Hello bold, the {deductible} is 4711.\n" + strings.Repeat("P Again and again.\n", 40),
	} {
		in := extracttest.Input(name, extracttest.CompoundFile(t, name))
		in.Spool = t.TempDir()
		doc, err := (&extract.Extractor{CacheDir: extracttest.ParserCache}).File(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		extracttest.CheckDocument(t, doc)
		if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMSG_TakesOutMessagesOfTheInternetsForm(t *testing.T) {
	in := extracttest.Input("oxmsg-forwarded.msg", extracttest.CompoundFile(t, "oxmsg-forwarded.msg"))
	in.Spool = t.TempDir()
	doc, err := (&extract.Extractor{CacheDir: extracttest.ParserCache}).File(t.Context(), in)
	if err != nil || len(doc.Parts) != 2 || doc.Parts[0].Name != "Opening.eml" || doc.Parts[1].Name != "Forwarded message" {
		t.Fatalf("%+v, %v", doc, err)
	}
	for i, subject := range []string{"Opening", "No extension"} {
		data, err := os.ReadFile(filepath.Join(in.Spool, extract.PartName(i)))
		if err != nil {
			t.Fatal(err)
		}
		inner := extracttest.Read(t, doc.Parts[i].Name, data)
		want := "P From: Eve <eve@example.org>⏎To: Ann <ann@example.org>⏎Subject: " + subject + "\nP The café opens at nine.\n"
		if diff := cmp.Diff(want, extracttest.Outline(inner)); diff != "" || inner.Format != "e-mail" {
			t.Errorf("%s: %s", inner.Format, diff)
		}
	}
}

func TestMSG_RefusesWithAReason(t *testing.T) {
	whole := extracttest.CompoundFile(t, "poi-message.msg")
	extracttest.WantReason(t, "a.msg", whole[:512], extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.msg", []byte("hello"), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.docx", extracttest.CompoundFile(t, "poi-locked.docx"), extract.Limits{}, extract.Encrypted)
}
