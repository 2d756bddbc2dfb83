package extract

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/extract/cfb"
	"parley/test/needs"
)

// The files of testdata/locked were made by other programs, all with the password "sesame":
//
//	7zip-*       7zz a -tzip -mm=METHOD -mem=CIPHER -psesame NAME secret.txt; without a password -tgzip, -tbzip2, -txz
//	gnu.tar.*    tar -cf gnu.tar secret.txt second.txt (the same text twice), then gzip -9n and bzip2
//	libreoffice- LibreOffice 7.4, storeToURL with Password, or with EncryptionData (OOXPassword; CryptoType Standard)
//	msoffcrypto- msoffcrypto-tool 6.1, OOXMLFile.encrypt, of libreoffice-plain.docx
const lockedPassword = "sesame"

func lockedFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "locked", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// textOf reads a file, and returns its text and that of the files inside it. The error is why a part
// of that is missing.
func textOf(t testing.TB, name string, data []byte, passwords ...string) (string, error) {
	t.Helper()
	in := input(name, data)
	in.Spool, in.Passwords = filepath.Join(t.TempDir(), "spool"), passwords
	x := &Extractor{CacheDir: testCache}
	defer x.Close()
	doc, err := x.File(t.Context(), in)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(in.Spool)
	var b strings.Builder
	for _, p := range doc.Pages {
		b.WriteString(p.Text)
	}
	for i, p := range doc.Parts {
		if p.Refused != nil {
			err = p.Refused
			continue
		}
		content, bad := os.ReadFile(filepath.Join(in.Spool, PartName(i)))
		if bad != nil {
			t.Fatal(bad)
		}
		b.Write(content)
	}
	if doc.Cut != nil {
		err = doc.Cut
	}
	return b.String(), err
}

// lockedFiles are the containers whose text can be read, with what is said in each.
var lockedFiles = map[string]string{
	"7zip-Copy-AES256.zip": "4711", "7zip-Deflate-AES128.zip": "4711", "7zip-Deflate-AES192.zip": "4711",
	"7zip-Deflate-AES256.zip": "4711", "7zip-BZip2-AES256.zip": "4711",
	"7zip-Copy-ZipCrypto.zip": "4711", "7zip-Deflate-ZipCrypto.zip": "4711", "7zip-BZip2-ZipCrypto.zip": "4711",
	"7zip-plain.zip": "4711", "7zip.txt.gz": "4711", "7zip.txt.bz2": "4711", "gnu.tar.gz": "4711", "gnu.tar.bz2": "4711",
	"msoffcrypto-agile.docx": "4711", "libreoffice-standard.xlsx": "4711",
	"libreoffice-plain.docx": "4711", "libreoffice-plain.xlsx": "4711",
}

func TestLocked_OpensWhatOtherProgramsEncrypted(t *testing.T) {
	for name, want := range lockedFiles {
		data := lockedFile(t, name)
		text, err := textOf(t, name, data, "wrong", lockedPassword)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if !isLocked(name) {
			continue
		}
		for _, words := range [][]string{nil, {"wrong"}} {
			if text, err := textOf(t, name, data, words...); reasonOf(err) != Encrypted || text != "" {
				t.Errorf("%s with %q: %q, %v", name, words, text, err)
			}
		}
	}
	for name, want := range map[string]Reason{
		"7zip-LZMA-AES256.zip": Unsupported, "7zip.txt.xz": Unsupported, "7zip.7z": Unsupported, "libreoffice-locked.ods": Encrypted,
	} {
		if text, err := textOf(t, name, lockedFile(t, name), lockedPassword); reasonOf(err) != want || text != "" {
			t.Errorf("%s: %q, %v, want %s", name, text, err, want)
		}
	}
}

func isLocked(name string) bool {
	for _, mark := range []string{"AES", "Crypto", "agile", "standard"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	return false
}

// A wrong password passes the one byte by which PKWARE's cipher tells them in one of 256 cases. It must
// not keep the right one from its turn.
func TestLocked_TriesTheNextPasswordWhenTheContentIsNotRight(t *testing.T) {
	for name := range lockedFiles {
		if !strings.Contains(name, "ZipCrypto") {
			continue
		}
		data := lockedFile(t, name)
		archive, err := openZIP(&file{r: bytes.NewReader(data), size: int64(len(data))})
		if err != nil {
			t.Fatal(err)
		}
		wrong := passing(t, archive.File[0])
		if text, err := textOf(t, name, data, wrong, lockedPassword); err != nil || !strings.Contains(text, "4711") {
			t.Errorf("%s with %q first: %q, %v", name, wrong, text, err)
		}
		if text, err := textOf(t, name, data, wrong); err == nil || text != "" {
			t.Errorf("%s with %q alone: %q, %v", name, wrong, text, err)
		}
	}
}

// passing finds a wrong password that passes the cipher's check.
func passing(t *testing.T, entry *zip.File) string {
	t.Helper()
	for i := range 100_000 {
		password := strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
		if _, err := decryptEntry(t.Context(), entry, password); err == nil {
			return password
		}
	}
	t.Fatal("no password passes")
	return ""
}

// TestTampered_IsRefusedOrWhole holds row S17 of the hardening guide: whichever byte of a container
// somebody changes, its text comes whole or not at all, and a change of what is sealed by a code of
// authentication is refused with a reason. Bytes that say nothing of the text may change: times, the
// bits that fill up a byte of compressed data, tables of a compression that are not used.
func TestTampered_IsRefusedOrWhole(t *testing.T) {
	for name := range lockedFiles {
		t.Run(name, func(t *testing.T) {
			data := lockedFile(t, name)
			whole, err := textOf(t, name, data, lockedPassword)
			if err != nil {
				t.Fatal(err)
			}
			from, to := sealed(t, name, data)
			step := 1
			switch {
			case testing.Short(), strings.Contains(name, "agile"), strings.Contains(name, "standard"):
				step = 97 // each password is hashed 100,000 times
			case len(data) > 2000:
				step = 7
			}
			if needs.Race {
				step *= 11 // every byte is tried without the race detector
			}
			refused, same := 0, 0
			for i := 0; i < len(data); i += step {
				changed := bytes.Clone(data)
				changed[i] ^= 1 << (i % 8)
				text, err := textOf(t, name, changed, lockedPassword)
				switch {
				case err == nil && text != whole:
					t.Fatalf("byte %d: half a text passes for all of it: %q", i, text)
				case err == nil && i >= from && i < to:
					t.Errorf("byte %d of what was sealed was changed, and nobody noticed", i)
				case err == nil:
					same++
				case !errors.As(err, new(*Error)):
					t.Errorf("byte %d: no reason: %v", i, err)
				default:
					refused++
				}
			}
			t.Logf("%d changes refused, %d made no difference to the text", refused, same)
		})
	}
}

// sealed returns which bytes of a file a code of authentication seals, itself included.
func sealed(t *testing.T, name string, data []byte) (from, to int) {
	t.Helper()
	switch {
	case strings.Contains(name, "AES"):
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		at, err := archive.File[0].DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		return int(at), int(at) + int(archive.File[0].CompressedSize64)
	case strings.Contains(name, "agile"):
		c, err := cfb.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		pack := c.Root().Named("EncryptedPackage").Bytes(1 << 20)
		at := bytes.Index(data, pack)
		if at < 0 {
			t.Fatal("the sectors of the package do not lie one behind the other")
		}
		return at, at + len(pack)
	}
	return 0, 0
}
