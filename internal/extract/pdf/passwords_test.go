package pdf

import (
	"crypto/md5"
	"crypto/rc4"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestPDF_OpensWithAPassword(t *testing.T) {
	dir := extracttest.Shared(t, "data/docs-robust")
	data, err := os.ReadFile(filepath.Join(dir, "pdfjs_passwords.json"))
	if err != nil {
		t.Fatal(err)
	}
	var passwords map[string]string
	if err := json.Unmarshal(data, &passwords); err != nil || len(passwords) == 0 {
		t.Fatal(err)
	}
	x := &extract.Extractor{CacheDir: extracttest.ParserCache}
	defer x.Close()
	for name, password := range passwords {
		data, err := os.ReadFile(filepath.Join(dir, "pdf.js", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not every file of the suite is there
		}
		if err != nil {
			t.Fatal(err)
		}
		in := extracttest.Input(name, data)
		for _, words := range [][]string{nil, {"wrong", "änother"}} {
			in.Passwords = words
			if _, err := x.File(t.Context(), in); extracttest.ReasonOf(err) != extract.Encrypted {
				t.Errorf("%s with %q: %v", name, words, err)
			}
		}
		in.Passwords = []string{"wrong", password}
		if _, err := x.File(t.Context(), in); err != nil && extracttest.ReasonOf(err) != extract.ScanOnly && extracttest.ReasonOf(err) != extract.Empty {
			t.Errorf("%s with its password: %v", name, err)
		}
	}
}

// lockedPDF is a document of one page that needs a password, encrypted as revision 2 of the standard
// security handler says (ISO 32000-1, section 7.6.3).
func lockedPDF(t *testing.T, password, text string) []byte {
	t.Helper()
	const padding = "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a"
	rc4ed := func(key, data []byte) []byte {
		c, err := rc4.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, len(data))
		c.XORKeyStream(out, data)
		return out
	}
	padded := []byte((password + padding)[:32])
	ownerKey := md5.Sum(padded)
	owner := rc4ed(ownerKey[:5], padded)
	id := []byte("0123456789abcdef")
	hash := md5.Sum(slices.Concat(padded, owner, []byte{0xfc, 0xff, 0xff, 0xff}, id))
	key := hash[:5]
	user := rc4ed(key, []byte(padding))
	content := extracttest.Set("R", 11, 72, 700, text)
	const object = 5
	objectKey := md5.Sum(append(slices.Clone(key), object, 0, 0, 0, 0))
	return extracttest.PDFObjects(fmt.Sprintf("/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%x> /U <%x> >> /ID [<%x> <%x>]", owner, user, id, id),
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /R 3 0 R >> >> >>",
		extracttest.PDFStream(string(rc4ed(objectKey[:10], []byte(content)))))
}

func TestPDF_TriesThePasswordsGiven(t *testing.T) {
	in := extracttest.Input("a.pdf", lockedPDF(t, "sesame", "An open secret."))
	x := &extract.Extractor{CacheDir: extracttest.ParserCache}
	defer x.Close()
	for _, c := range []struct {
		passwords []string
		want      extract.Reason
	}{{nil, extract.Encrypted}, {[]string{"wrong"}, extract.Encrypted}, {[]string{"wrong", "sesame", "other"}, ""}} {
		in.Passwords = c.passwords
		doc, err := x.File(t.Context(), in)
		if extracttest.ReasonOf(err) != c.want {
			t.Fatalf("with %q: %v, want %q", c.passwords, err, c.want)
		}
		if err == nil && extracttest.Outline(doc) != "page 1\nP An open secret.\n" {
			t.Errorf("got %q", extracttest.Outline(doc))
		}
	}
}
