package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/cfb"
	"parley/internal/extract/extracttest"
	"parley/internal/extract/zipxml"
	"parley/test/needs"
)

// lockedFiles are the containers whose text can be read, with what is said in each.
var lockedFiles = map[string]string{
	"7zip-Copy-AES256.zip": "4711", "7zip-Deflate-AES128.zip": "4711", "7zip-Deflate-AES192.zip": "4711",
	"7zip-Deflate-AES256.zip": "4711", "7zip-BZip2-AES256.zip": "4711",
	"7zip-Copy-ZipCrypto.zip": "4711", "7zip-Deflate-ZipCrypto.zip": "4711", "7zip-BZip2-ZipCrypto.zip": "4711",
	"7zip-LZMA.7z": "4711", "7zip-LZMA2-AES.7z": "4711", "7zip-BZip2.7z": "4711", "7zip-Deflate.7z": "4711", "7zip-Copy-AES.7z": "4711",
	"7zip-hidden-AES.7z": "4711", "7zip.7z": "4711", "7zip.txt.xz": "4711", "gnu.tar.xz": "4711", "gnu.tar.zst": "4711", "python-stored.rar": "4711",
	"7zip-plain.zip": "4711", "7zip.txt.gz": "4711", "7zip.txt.bz2": "4711", "gnu.tar.gz": "4711", "gnu.tar.bz2": "4711",
	"msoffcrypto-agile.docx": "4711", "libreoffice-standard.xlsx": "4711",
	"libreoffice-plain.docx": "4711", "libreoffice-plain.xlsx": "4711",
}

func TestLocked_OpensWhatOtherProgramsEncrypted(t *testing.T) {
	for name, want := range lockedFiles {
		data := extracttest.LockedFile(t, name)
		text, err := extracttest.TextOf(t, name, data, "wrong", extracttest.LockedPassword)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if !isLocked(name) {
			continue
		}
		for _, words := range [][]string{nil, {"wrong"}} {
			if text, err := extracttest.TextOf(t, name, data, words...); extracttest.ReasonOf(err) != extract.Encrypted || text != "" {
				t.Errorf("%s with %q: %q, %v", name, words, text, err)
			}
		}
	}
	for name, want := range map[string]extract.Reason{
		"7zip-LZMA-AES256.zip": extract.Unsupported, "7zip-PPMd.7z": extract.Unsupported, "libreoffice-locked.ods": extract.Encrypted,
	} {
		if text, err := extracttest.TextOf(t, name, extracttest.LockedFile(t, name), extracttest.LockedPassword); extracttest.ReasonOf(err) != want || text != "" {
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
		data := extracttest.LockedFile(t, name)
		archive, err := zipxml.Open(&extract.File{Content: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			t.Fatal(err)
		}
		wrong := passing(t, archive.File[0])
		if text, err := extracttest.TextOf(t, name, data, wrong, extracttest.LockedPassword); err != nil || !strings.Contains(text, "4711") {
			t.Errorf("%s with %q first: %q, %v", name, wrong, text, err)
		}
		if text, err := extracttest.TextOf(t, name, data, wrong); err == nil || text != "" {
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
	needs.Long(t)
	for name := range lockedFiles {
		t.Run(name, func(t *testing.T) {
			data := extracttest.LockedFile(t, name)
			whole, err := extracttest.TextOf(t, name, data, extracttest.LockedPassword)
			if err != nil {
				t.Fatal(err)
			}
			from, to := sealed(t, name, data)
			step := 1
			switch {
			case testing.Short(), strings.Contains(name, "agile"), strings.Contains(name, "standard"), strings.Contains(name, "AES.7z"):
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
				text, err := extracttest.TextOf(t, name, changed, extracttest.LockedPassword)
				switch {
				case err == nil && text != whole:
					t.Fatalf("byte %d: half a text passes for all of it: %q", i, text)
				case err == nil && i >= from && i < to:
					t.Errorf("byte %d of what was sealed was changed, and nobody noticed", i)
				case err == nil:
					same++
				case !errors.As(err, new(*extract.Error)):
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
	case strings.Contains(name, "AES") && strings.HasSuffix(name, ".zip"):
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
