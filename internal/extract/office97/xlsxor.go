package office97

import (
	"encoding/binary"
	"math/bits"
)

// xlsXOR is the oldest encryption of workbooks: XOR obfuscation, method 1 ([MS-OFFCRYPTO], section 2.3.7).
type xlsXOR [16]byte

// readXOR reads the key and the verifier of a record FilePass. open returns nil if the password is wrong.
func readXOR(pass []byte) (open func(password string) decrypter) {
	key, verifier := binary.LittleEndian.Uint16(pass), binary.LittleEndian.Uint16(pass[2:])
	return func(password string) decrypter {
		const most = 15
		word := []byte(password)[:min(len(password), most)]
		if len(word) == 0 || xorKey(word) != key || xorVerifier(word) != verifier {
			return nil
		}
		lock := xlsXOR{}
		copy(lock[copy(lock[:], word):], "\xbb\xff\xff\xba\xff\xff\xb9\x80\x00\xbe\x0f\x00\xbf\x0f\x00")
		for i := range lock {
			lock[i] = bits.RotateLeft8(lock[i]^byte(key>>(8*(i%2))), 2)
		}
		return lock
	}
}

// xorKey returns the key of a password.
func xorKey(word []byte) uint16 {
	step := func(v uint16) uint16 {
		if v = bits.RotateLeft16(v, 1); v&1 == 1 {
			v ^= 0x1020
		}
		return v
	}
	key, base, end := uint16(0), uint16(0x8000), uint16(0xffff)
	for i := len(word) - 1; i >= 0; i-- {
		letter := word[i] & 0x7f
		for range 8 {
			if base = step(base); letter&1 == 1 {
				key ^= base
			}
			letter >>= 1
			end = step(end)
		}
	}
	return key ^ end
}

// xorVerifier returns the hash that verifies a password.
func xorVerifier(word []byte) uint16 {
	const width = 15 // bits in which letters rotate
	hash := uint16(len(word)) ^ 0xce4b
	for i, letter := range word {
		n := (i + 1) % width
		v := uint16(letter)
		hash ^= (v<<n | v>>(width-n)) & (1<<width - 1)
	}
	return hash
}

func (x xlsXOR) decrypt(body []byte, at, plain int) {
	for i := plain; i < len(body); i++ {
		body[i] = bits.RotateLeft8(body[i], 3) ^ x[(at+len(body)+i)%len(x)]
	}
}
