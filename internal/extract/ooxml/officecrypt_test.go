package ooxml

import (
	"bytes"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestOffice_RefusesAPasswordThatDoesNotFit(t *testing.T) {
	for _, name := range []string{"msoffcrypto-agile.docx", "libreoffice-standard.xlsx"} {
		for _, words := range [][]string{nil, {"wrong"}} {
			if _, err := extracttest.TextOf(t, name, extracttest.LockedFile(t, name), words...); extracttest.ReasonOf(err) != extract.Encrypted {
				t.Errorf("%s with %q: %v", name, words, err)
			}
		}
	}
	extracttest.WantReason(t, "a.docx", extracttest.CompoundFile(t, "poi-locked.docx"), extract.Limits{}, extract.Encrypted)
}

func TestOffice_OpensWhatIsProtectedAgainstChangesOnly(t *testing.T) {
	const name = "msoffcrypto-protected.xlsx" // of libreoffice-plain.xlsx, with Excel's own password
	text, err := extracttest.TextOf(t, name, extracttest.LockedFile(t, name))
	if err != nil || !strings.Contains(text, "Plan 0; Deductible: 4711") {
		t.Errorf("%q, %v", text, err)
	}
}

// What says how a document is encrypted is not sealed itself, so that its HMAC could be cut out.
func TestOffice_RefusesADocumentWithoutItsHMAC(t *testing.T) {
	const name = "msoffcrypto-agile.docx"
	data := extracttest.LockedFile(t, name)
	without := bytes.ReplaceAll(data, []byte("dataIntegrity"), []byte("dataIntegritx"))
	if bytes.Equal(data, without) {
		t.Fatal("the file has no HMAC")
	}
	if text, err := extracttest.TextOf(t, name, without, extracttest.LockedPassword); extracttest.ReasonOf(err) != extract.Damaged || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
