package office97

import (
	"bytes"
	"context"
	"crypto/rc4"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// seal says how a file is encrypted with RC4 of CryptoAPI, and returns the key of each block.
func seal(password string) (how []byte, key func(block int) []byte) {
	salt := []byte("0123456789abcdef")
	base := sha1.Sum(append(salt[:16:16], wide(password)...))
	key = func(block int) []byte {
		k := sha1.Sum(binary.LittleEndian.AppendUint32(base[:20:20], uint32(block)))
		return k[:16]
	}
	value := []byte("some random text")
	digest := sha1.Sum(value)
	secret := append(value, digest[:]...)
	c, _ := rc4.NewCipher(key(0))
	c.XORKeyStream(secret, secret)
	head := make([]byte, 34)
	copy(head[8:], []byte{1, 0x68, 0, 0, 4, 0x80, 0, 0, 128})
	how = slices.Concat([]byte{2, 0, 2, 0, 0, 0, 0, 0, 34, 0, 0, 0}, head, []byte{16, 0, 0, 0}, salt, secret[:16], []byte{20, 0, 0, 0}, secret[16:])
	return how, key
}

// streamsOf returns streams of a compound file, and the file as its reader gets it.
func streamsOf(t *testing.T, name string, data []byte, names ...string) (f *extract.File, all [][]byte) {
	t.Helper()
	f = &extract.File{Name: name, Content: bytes.NewReader(data), Size: int64(len(data)), Limits: extract.Limits{}.WithDefaults()}
	for _, n := range names {
		b, err := stream(f, n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(b))
	}
	return f, all
}

// wantOpened reads a file with the right password, with wrong ones and without any.
func wantOpened(t *testing.T, f *extract.File, want string, read func() (*extract.Document, error)) {
	t.Helper()
	f.Passwords = []string{"wrong", "secret"}
	doc, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if got := extracttest.Outline(doc); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []struct {
		passwords []string
		why       string
	}{{nil, "needs a password"}, {[]string{"wrong"}, "none of the passwords"}} {
		f.Passwords = c.passwords
		_, err := read()
		if extracttest.ReasonOf(err) != extract.Encrypted || !strings.Contains(err.Error(), c.why) {
			t.Errorf("with the passwords %q: %v", c.passwords, err)
		}
	}
}

func TestDOC_OpensEncryptedDocuments(t *testing.T) {
	data := extracttest.LibreOffice(t, "plan.doc")
	want := extracttest.Outline(extracttest.Read(t, "plan.doc", data))
	f, all := streamsOf(t, "plan.doc", data, "WordDocument", "1Table")
	how, key := seal("secret")
	main, tables := all[0], append(bytes.Clone(how), all[1]...)
	for _, place := range []int{fibChars, fibParas, fibStyles, fibFonts, fibPieces, fibLists, fibListUses} {
		binary.LittleEndian.PutUint32(main[place:], binary.LittleEndian.Uint32(main[place:])+uint32(len(how)))
	}
	main[fibFlags+1] |= docEncrypted >> 8
	binary.LittleEndian.PutUint32(main[fibSealSize:], uint32(len(how)))
	encrypt := func(b []byte, plain int) {
		for i := 0; i < len(b); i += 512 {
			c, _ := rc4.NewCipher(key(i / 512))
			end := min(i+512, len(b))
			kept := bytes.Clone(b[i:end])
			c.XORKeyStream(b[i:end], b[i:end])
			copy(b[i:end], kept[:min(max(plain-i, 0), len(kept))])
		}
	}
	encrypt(main, 68)
	encrypt(tables, len(how))
	wantOpened(t, f, want, func() (*extract.Document, error) {
		return readWord(context.Background(), f, bytes.Clone(main), bytes.Clone(tables))
	})
	main[fibFlags+1] |= docObfuscated >> 8
	if _, err := readWord(context.Background(), f, main, tables); err == nil || !strings.Contains(err.Error(), "does not support") {
		t.Errorf("with the method of Word 95: %v", err)
	}
}

func TestPPT_OpensEncryptedPresentations(t *testing.T) {
	file := extracttest.CompoundFile(t, "slides.ppt.gz")
	want := extracttest.Outline(extracttest.Read(t, "a.ppt", file))
	f, all := streamsOf(t, "a.ppt", file, "PowerPoint Document", "Current User")
	data, current := all[0], all[1]
	how, key := seal("secret")
	r := pptReader{data: data, objects: map[uint32]uint32{}}
	last := binary.LittleEndian.Uint32(current[16:])
	document, highest := r.edits(last), uint32(0)
	for id, place := range r.objects {
		highest = max(highest, id)
		size := pptHeadSize + binary.LittleEndian.Uint32(data[place+4:])
		c, _ := rc4.NewCipher(key(int(id)))
		c.XORKeyStream(data[place:place+size], data[place:place+size])
	}
	record := func(kind uint16, body []byte) uint32 {
		at := uint32(len(data))
		data = binary.LittleEndian.AppendUint16(append(data, 0, 0), kind)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(body))), body...)
		return at
	}
	numbers := func(all ...uint32) (b []byte) {
		for _, n := range all {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return b
	}
	place := record(pptSeal, how)
	directory := record(pptPersist, numbers(1<<20|(highest+1), place))
	edit := record(pptUserEdit, numbers(0, 0, last, directory, document, highest+2, 0, highest+1))
	binary.LittleEndian.PutUint32(current[12:], currentSealed)
	binary.LittleEndian.PutUint32(current[16:], edit)
	wantOpened(t, f, want, func() (*extract.Document, error) { return readSlides(context.Background(), f, data, current) })
}
