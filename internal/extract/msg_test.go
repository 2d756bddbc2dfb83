package extract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMSG_ReadsTheMessageAndTakesAttachmentsOut(t *testing.T) {
	in := input("a.msg", compoundFile(t, "poi-message.msg"))
	in.Spool = t.TempDir()
	doc, err := (&Extractor{CacheDir: testCache}).File(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := "P From: Ann <ann@example.org>⏎To: Bob⏎Date: Tuesday, 2024-03-05 14:30 +0000⏎Subject: A subject\n" +
		"P Café at noon.\nP Ann\nP Attachments: re_port.txt, Inner.eml\n"
	if diff := cmp.Diff(want, outline(doc)); diff != "" {
		t.Error(diff)
	}
	mail, err := os.ReadFile(filepath.Join(in.Spool, PartName(1)))
	if err != nil {
		t.Fatal(err)
	}
	in = input("Inner.eml", mail)
	in.Spool = t.TempDir()
	if doc, err = (&Extractor{CacheDir: testCache}).File(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want = "P From: Bob⏎Subject: Inner\nP Inner body, on one line.\nP Attachments: deep.txt\n"
	if diff := cmp.Diff(want, outline(doc)); diff != "" {
		t.Error(diff)
	}
	if data, err := os.ReadFile(filepath.Join(in.Spool, PartName(0))); err != nil || string(data) != "Deep." {
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
		in := input(name, compoundFile(t, name))
		in.Spool = t.TempDir()
		doc, err := (&Extractor{CacheDir: testCache}).File(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		checkDocument(t, doc)
		if diff := cmp.Diff(want, outline(doc)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMSG_RefusesWithAReason(t *testing.T) {
	whole := compoundFile(t, "poi-message.msg")
	wantReason(t, "a.msg", whole[:512], Limits{}, Damaged)
	wantReason(t, "a.msg", []byte("hello"), Limits{}, Damaged)
	wantReason(t, "a.docx", compoundFile(t, "poi-locked.docx"), Limits{}, Encrypted)
}
