package office97

import (
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha1"
	"encoding/binary"
	"hash"
	"slices"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
)

// Workbooks are encrypted as [MS-XLS] and [MS-OFFCRYPTO] describe. These records, or their first bytes, are not encrypted.
const (
	recUserExclusive = 0x194
	recFileLock      = 0x195
	recInterface     = 0xe1
	recRevisionInfo  = 0x196
	recRevisionHead  = 0x138
	boundSheetPlain  = 4
)

// defaultPassword is the password of workbooks that Excel only protects against changes.
const defaultPassword = "VelvetSweatshop"

// decrypter decrypts records in place.
type decrypter interface {
	// decrypt decrypts the body of a record except its first plain bytes. The body begins at byte at of the stream.
	decrypt(body []byte, at, plain int)
}

// rc4Cipher decrypts RC4. Each block of the stream has its own key. Bytes that are not encrypted also consume key stream.
type rc4Cipher struct {
	hash     func() hash.Hash
	base     []byte // the hash of the password and the salt
	keyBytes int
	padTo    int // length to which zeros pad the key; 0 for no padding
	size     int // of a block, at most len(keys)

	loaded int // the block whose key stream is in keys, from 1; 0 for none
	keys   [xlsBlock]byte
}

const xlsBlock = 1024

// decrypt decrypts the records after a position, in place. Its error is for people.
func (x *xlsReader) decrypt(pass []byte, at int, passwords []string) error {
	open, ok := readCipher(pass, x.unicode)
	c, err := unlock("workbook", open, ok, append(slices.Clip(passwords), defaultPassword), len(passwords) > 0)
	if err == nil {
		x.apply(c, at)
	}
	return err
}

// unlock returns the lock that one of the passwords opens. known reports whether the method of encryption is known, and given
// whether a person gave passwords. The error is for people.
func unlock(what string, open func(string) decrypter, known bool, passwords []string, given bool) (decrypter, error) {
	refuse := func(why string) (decrypter, error) {
		return nil, &extract.Error{Reason: extract.Encrypted, Detail: why}
	}
	if !known {
		return refuse("the " + what + " is encrypted with a method that Parley does not support")
	}
	for _, password := range passwords {
		if c := open(password); c != nil {
			return c, nil
		}
	}
	if given {
		return refuse("none of the passwords given opens the " + what)
	}
	return refuse("the " + what + " needs a password")
}

// readCipher reads the record FilePass. open returns the cipher for a password, or nil if the password is wrong. ok is false if
// the method is unknown.
//
//nolint:gosec // the format prescribes the hashes
func readCipher(pass []byte, unicode bool) (open func(password string) decrypter, ok bool) {
	switch {
	case len(pass) < 4:
		return nil, false
	case !unicode:
		return readXOR(pass), true
	case len(pass) >= 6 && binary.LittleEndian.Uint16(pass) == 0:
		return readXOR(pass[2:]), true
	case len(pass) < 6 || binary.LittleEndian.Uint16(pass) != 1:
		return nil, false
	}
	return readRC4(pass[2:], xlsBlock)
}

// readRC4 reads a version of encryption, its header and its verifier. Each block of size bytes of a stream has its own key.
//
//nolint:gosec // the format prescribes the hashes
func readRC4(b []byte, size int) (open func(password string) decrypter, ok bool) {
	if len(b) < 4 {
		return nil, false
	}
	major, minor, rest := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]), b[4:]
	switch {
	case major == 1 && minor == 1 && len(rest) >= 48:
		return func(password string) decrypter {
			first := sum(md5.New, codepage.EncodeUTF16(password))[:5]
			salted := slices.Repeat(slices.Concat(first, rest[:16]), 16)
			c := &rc4Cipher{hash: md5.New, base: sum(md5.New, salted)[:5], keyBytes: 16, size: size}
			return c.verified(rest[16:32], rest[32:48])
		}, true
	case major >= 2 && major <= 4 && minor == 2 && len(rest) >= 8:
		return readCryptoAPI(rest[4:], size)
	}
	return nil, false
}

// readCryptoAPI reads the header and the verifier of the newer method.
//
//nolint:gosec // the format prescribes the hash
func readCryptoAPI(data []byte, block int) (open func(password string) decrypter, ok bool) {
	const (
		algRC4    = 0x6801
		leastHead = 32
	)
	size := uint64(binary.LittleEndian.Uint32(data))
	data = data[4:]
	if size < leastHead || uint64(len(data)) < size+60 {
		return nil, false
	}
	bits, verifier := binary.LittleEndian.Uint32(data[16:]), data[size:]
	if bits == 0 {
		bits = 40
	}
	if binary.LittleEndian.Uint32(data[8:]) != algRC4 || bits < 40 || bits > 128 || bits%8 != 0 || binary.LittleEndian.Uint32(verifier) != 16 {
		return nil, false
	}
	return func(password string) decrypter {
		c := &rc4Cipher{hash: sha1.New, base: sum(sha1.New, verifier[4:20], codepage.EncodeUTF16(password)), keyBytes: int(bits / 8), size: block}
		if bits == 40 {
			c.padTo = 16
		}
		return c.verified(verifier[20:36], verifier[40:60])
	}, true
}

// verified returns the cipher if it decrypts a value and the value's hash.
func (c *rc4Cipher) verified(value, digest []byte) decrypter {
	plain := slices.Concat(value, digest)
	c.block(0).XORKeyStream(plain, plain)
	if string(sum(c.hash, plain[:len(value)])) != string(plain[len(value):]) {
		return nil
	}
	return c
}

// block returns the cipher of a block of the stream.
//
//nolint:gosec // the format prescribes RC4
func (c *rc4Cipher) block(n int) *rc4.Cipher {
	key := sum(c.hash, c.base, binary.LittleEndian.AppendUint32(nil, uint32(n)))[:c.keyBytes]
	if c.padTo > 0 {
		key = append(slices.Clone(key), make([]byte, c.padTo-c.keyBytes)...)
	}
	stream, err := rc4.NewCipher(key)
	if err != nil {
		panic(err) // the length of the key is checked
	}
	return stream
}

func (c *rc4Cipher) decrypt(body []byte, at, plain int) {
	for i := plain; i < len(body); i++ {
		if n := (at+i)/c.size + 1; n != c.loaded {
			clear(c.keys[:])
			c.block(n-1).XORKeyStream(c.keys[:], c.keys[:])
			c.loaded = n
		}
		body[i] ^= c.keys[(at+i)%c.size]
	}
}

// apply decrypts the records after a position.
func (x *xlsReader) apply(lock decrypter, from int) {
	for at := from; at < len(x.data); {
		kind, body, next := x.record(at)
		switch kind {
		case recBOF, recUserExclusive, recFileLock, recInterface, recRevisionInfo, recRevisionHead:
		case recBoundSheet:
			lock.decrypt(body, next-len(body), boundSheetPlain)
		default:
			lock.decrypt(body, next-len(body), 0)
		}
		at = next
	}
}

func sum(h func() hash.Hash, parts ...[]byte) []byte {
	d := h()
	for _, p := range parts {
		d.Write(p)
	}
	return d.Sum(nil)
}
