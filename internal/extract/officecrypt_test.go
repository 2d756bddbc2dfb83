package extract

import (
	"bytes"
	"strings"
	"testing"
)

func TestOffice_RefusesAPasswordThatDoesNotFit(t *testing.T) {
	for _, name := range []string{"msoffcrypto-agile.docx", "libreoffice-standard.xlsx"} {
		for _, words := range [][]string{nil, {"wrong"}} {
			if _, err := textOf(t, name, lockedFile(t, name), words...); reasonOf(err) != Encrypted {
				t.Errorf("%s with %q: %v", name, words, err)
			}
		}
	}
	wantReason(t, "a.docx", compoundFile(t, "poi-locked.docx"), Limits{}, Encrypted)
}

func TestOffice_OpensWhatIsProtectedAgainstChangesOnly(t *testing.T) {
	const name = "msoffcrypto-protected.xlsx" // of libreoffice-plain.xlsx, with Excel's own password
	text, err := textOf(t, name, lockedFile(t, name))
	if err != nil || !strings.Contains(text, "Plan 0; Deductible: 4711") {
		t.Errorf("%q, %v", text, err)
	}
}

// What says how a document is encrypted is not sealed itself, so that its HMAC could be cut out.
func TestOffice_RefusesADocumentWithoutItsHMAC(t *testing.T) {
	const name = "msoffcrypto-agile.docx"
	data := lockedFile(t, name)
	without := bytes.ReplaceAll(data, []byte("dataIntegrity"), []byte("dataIntegritx"))
	if bytes.Equal(data, without) {
		t.Fatal("the file has no HMAC")
	}
	if text, err := textOf(t, name, without, lockedPassword); reasonOf(err) != Damaged || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
