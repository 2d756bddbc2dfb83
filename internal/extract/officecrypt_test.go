package extract

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

func encryptCBC(t *testing.T, key, iv, plain []byte) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	plain = append(bytes.Clone(plain), make([]byte, (16-len(plain)%16)%16)...)
	out := make([]byte, len(plain))
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, plain)
	return out
}

// lockAgile encrypts a document as Office does since 2010, but for the number of spins.
func lockAgile(t *testing.T, password string, document []byte) []byte {
	t.Helper()
	const spins = 10
	keySalt, dataSalt := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	key, input := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{9}, 16)
	h := digest(sha512.New, keySalt, utf16Bytes(password))
	for i := range spins {
		h = digest(sha512.New, binary.LittleEndian.AppendUint32(nil, uint32(i)), h)
	}
	seal := func(purpose, plain []byte) string {
		return base64.StdEncoding.EncodeToString(encryptCBC(t, digest(sha512.New, h, purpose)[:32], keySalt, plain))
	}
	attributes := `saltSize="16" blockSize="16" keyBits="256" hashSize="64" cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="SHA512"`
	info := fmt.Sprintf(`<encryption xmlns="e" xmlns:p="p"><keyData %s saltValue="%s"/><keyEncryptors><keyEncryptor uri="p"><p:encryptedKey spinCount="%d" %s saltValue="%s"`+
		` encryptedVerifierHashInput="%s" encryptedVerifierHashValue="%s" encryptedKeyValue="%s"/></keyEncryptor></keyEncryptors></encryption>`,
		attributes, base64.StdEncoding.EncodeToString(dataSalt), spins, attributes, base64.StdEncoding.EncodeToString(keySalt),
		seal(agileInput, input), seal(agileHash, digest(sha512.New, input)), seal(agileValue, key))
	pack := binary.LittleEndian.AppendUint64(nil, uint64(len(document)))
	for i := 0; i*4096 < len(document); i++ {
		iv := digest(sha512.New, dataSalt, binary.LittleEndian.AppendUint32(nil, uint32(i)))[:16]
		pack = append(pack, encryptCBC(t, key, iv, document[i*4096:min(len(document), (i+1)*4096)])...)
	}
	return makeCFB(node{name: "EncryptionInfo", data: append([]byte{4, 0, 4, 0, 0x40, 0, 0, 0}, info...)}, node{name: "EncryptedPackage", data: pack})
}

// lockStandard encrypts a document as Office 2007 does.
func lockStandard(t *testing.T, password string, document []byte) []byte {
	t.Helper()
	l := &standardLock{keyBytes: 16, salt: []byte("0123456789abcdef"), verifier: make([]byte, 16), hash: make([]byte, 32)}
	key, _ := l.unlock(utf16Bytes(password))
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(plain []byte) []byte {
		out := append(bytes.Clone(plain), make([]byte, (16-len(plain)%16)%16)...)
		for i := 0; i < len(out); i += 16 {
			block.Encrypt(out[i:], out[i:])
		}
		return out
	}
	words := func(w ...uint32) []byte {
		var b []byte
		for _, v := range w {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	verifier := []byte("sixteen bytes...")
	info := append([]byte{4, 0, 2, 0, 0x24, 0, 0, 0}, words(32, 0x24, 0, 0x660e, 0x8004, 128, 24, 0, 0)...)
	info = append(append(append(info, words(16)...), l.salt...), seal(verifier)...)
	info = append(append(info, words(20)...), seal(digest(sha1.New, verifier))...)
	pack := append(binary.LittleEndian.AppendUint64(nil, uint64(len(document))), seal(document)...)
	return makeCFB(node{name: "EncryptionInfo", data: info}, node{name: "EncryptedPackage", data: pack})
}

func TestOffice_OpensWithAPassword(t *testing.T) {
	text := strings.Repeat("A secret of several segments. ", 500)
	document := makeZIP(t, "word/document.xml", docxStart+para("", text)+docxEnd, "word/media/x.bin", strings.Repeat("\x00\x01", 9000)+text)
	for name, data := range map[string][]byte{
		"agile": lockAgile(t, "pässword", document), "standard": lockStandard(t, "pässword", document),
	} {
		t.Run(name, func(t *testing.T) {
			in := input("a.docx", data)
			for _, words := range [][]string{nil, {"wrong"}} {
				in.Passwords = words
				if _, err := (&Extractor{}).File(t.Context(), in); reasonOf(err) != Encrypted {
					t.Errorf("with %q: %v", words, err)
				}
			}
			in.Passwords = []string{"wrong", "pässword"}
			doc, err := (&Extractor{}).File(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(doc); got != "P "+strings.TrimSpace(text)+"\n" {
				t.Errorf("got %.100q", got)
			}
		})
	}
	wantReason(t, "a.docx", makeCFB(node{name: "EncryptedPackage", data: []byte("x")}), Limits{}, Encrypted)
	// What is protected against changes only opens by itself.
	read(t, "a.docx", lockAgile(t, defaultPassword, document))
}
