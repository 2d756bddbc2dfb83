package extract

import (
	"crypto/aes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1"
	"hash/crc32"
	"testing"
)

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// encryptZIP is the inverse of zipKeys.
func encryptZIP(password string, plain []byte) []byte {
	z := zipKeys{k: [3]uint32{0x12345678, 0x23456789, 0x34567890}}
	for i := range len(password) {
		z.update(password[i])
	}
	var out []byte
	for _, c := range plain {
		t := z.k[2] | 2
		out = append(out, c^byte(t*(t^1)>>8))
		z.update(c)
	}
	return out
}

// encryptAES encrypts as WinZip's AE-2 with 256 bits says.
func encryptAES(t *testing.T, password string, plain []byte) []byte {
	t.Helper()
	salt := []byte("0123456789abcdef")
	keys, err := pbkdf2.Key(sha1.New, password, salt, 1000, 66)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		t.Fatal(err)
	}
	out := append(append([]byte{}, salt...), keys[64:]...)
	var counter, stream [16]byte
	var secret []byte
	for i, c := range plain {
		if i%16 == 0 {
			counter[0]++
			block.Encrypt(stream[:], counter[:])
		}
		secret = append(secret, c^stream[i%16])
	}
	mac := hmac.New(sha1.New, keys[32:64])
	mac.Write(secret)
	return append(append(out, secret...), mac.Sum(nil)[:10]...)
}
