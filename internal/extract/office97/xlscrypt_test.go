package office97

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// lockedWorkbook is a workbook with one long text, whose records behind FilePass are encrypted with a function that takes the
// body of a record and its place.
func lockedWorkbook(pass []byte, encrypt func(body []byte, at int)) []byte {
	var out []byte
	add := func(kind uint16, body []byte, plain int) {
		out = binary.LittleEndian.AppendUint16(out, kind)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(body)))
		at := len(out)
		out = append(out, body...)
		if plain < len(body) {
			locked := out[at:]
			kept := slices.Clone(locked[:plain])
			encrypt(locked, at)
			copy(locked, kept)
		}
	}
	begin := func(kind byte) { add(recBOF, []byte{0, 6, kind, 0, 0, 0, 0, 0}, 8) }
	begin(5)
	add(recFilePass, pass, len(pass))
	sheet := len(out) + 4 + 13 + 4
	add(recBoundSheet, append(binary.LittleEndian.AppendUint32(nil, uint32(sheet)), "\x00\x00\x05\x00Costs"...), boundSheetPlain)
	add(recEOF, nil, 0)
	begin(16)
	text := strings.Repeat("long ", 400) + "end"
	label := binary.LittleEndian.AppendUint16(make([]byte, 6), uint16(len(text)))
	add(0x204, append(append(label, 0), text...), 0)
	add(recEOF, nil, 0)
	return extracttest.Compound("Workbook", out)
}

// stream1024 encrypts with RC4, where a function gives the key of each block.
func stream1024(key func(block byte) []byte) func(body []byte, at int) {
	return func(body []byte, at int) {
		for i := range body {
			c, _ := rc4.NewCipher(key(byte((at + i) / 1024)))
			keys := make([]byte, 1024)
			c.XORKeyStream(keys, keys)
			body[i] ^= keys[(at+i)%1024]
		}
	}
}

func wide(s string) []byte {
	var b []byte
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return b
}

func TestXLS_OpensEncryptedWorkbooks(t *testing.T) {
	salt := []byte("0123456789abcdef")
	rc4Workbook := func(password string) []byte {
		start := md5.Sum(wide(password))
		base := md5.Sum(bytes.Repeat(append(start[:5:5], salt...), 16))
		key := func(block byte) []byte { k := md5.Sum(append(base[:5:5], block, 0, 0, 0)); return k[:] }
		value := []byte("some random text")
		digest := md5.Sum(value)
		secret := append(value, digest[:]...)
		c, _ := rc4.NewCipher(key(0))
		c.XORKeyStream(secret, secret)
		return lockedWorkbook(slices.Concat([]byte{1, 0, 1, 0, 1, 0}, salt, secret), stream1024(key))
	}
	newer := func(password string) []byte {
		how, key := seal(password)
		return lockedWorkbook(append([]byte{1, 0}, how...), stream1024(func(block byte) []byte { return key(int(block)) }))
	}
	// What Excel writes for the password abc.
	old := lockedWorkbook([]byte{0, 0, 0x4a, 0x51, 0x1a, 0xcc}, func(body []byte, at int) {
		word := []byte("abc\xbb\xff\xff\xba\xff\xff\xb9\x80\x00\xbe\x0f\x00\xbf")
		for i := range body {
			n := (at + len(body) + i) % 16
			k := bits.RotateLeft8(word[n]^[]byte{0x4a, 0x51}[n%2], 2)
			body[i] = bits.RotateLeft8(body[i]^k, -3)
		}
	})
	for _, c := range []struct {
		what  string
		data  []byte
		words []string
		ok    bool
	}{
		{"RC4", rc4Workbook("secret"), []string{"wrong", "secret"}, true},
		{"RC4, protected against changes only", rc4Workbook("VelvetSweatshop"), nil, true},
		{"RC4 of CryptoAPI", newer("secret"), []string{"secret"}, true},
		{"XOR", old, []string{"abc"}, true},
		{"RC4 without the password", rc4Workbook("secret"), nil, false},
		{"CryptoAPI without the password", newer("secret"), []string{"wrong"}, false},
		{"XOR without the password", old, []string{"wrong"}, false},
		{"an unknown method", lockedWorkbook([]byte{1, 0, 9, 0, 9, 0}, func([]byte, int) {}), nil, false},
	} {
		x := &extract.Extractor{}
		doc, err := x.File(context.Background(), extract.Input{Name: "a.xls", Content: bytes.NewReader(c.data), Size: int64(len(c.data)), Passwords: c.words})
		if c.ok {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			} else if got := extracttest.Outline(doc); !strings.Contains(got, "H1 Costs") || !strings.Contains(got, "long long end") {
				t.Errorf("%s: got %.100q", c.what, got)
			}
			continue
		}
		if e := (*extract.Error)(nil); !errors.As(err, &e) || e.Reason != extract.Encrypted {
			t.Errorf("%s: got %v, want it to be refused as encrypted", c.what, err)
		}
	}
}
