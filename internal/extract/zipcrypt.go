package extract

import (
	"archive/zip"
	"compress/bzip2"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the format prescribes it
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
)

// zipAES is the method of entries encrypted as WinZip does; the true one stands in an extra field.
const zipAES = 99

// openEncrypted opens an entry with the first of the passwords that fits it.
func openEncrypted(f *file, entry *zip.File) (io.ReadCloser, error) {
	for _, password := range f.passwords {
		r, err := decryptEntry(entry, password)
		if errors.Is(err, errPassword) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &partReader{ReadCloser: io.NopCloser(r), packed: int64(entry.CompressedSize64)}, nil
	}
	if len(f.passwords) > 0 {
		return nil, &Error{Reason: Encrypted, Detail: "none of the passwords given opens it"}
	}
	return nil, &Error{Reason: Encrypted, Detail: "it needs a password"}
}

var errPassword = errors.New("wrong password")

func decryptEntry(entry *zip.File, password string) (io.Reader, error) {
	raw, err := entry.OpenRaw()
	if err != nil {
		return nil, damaged("its place in the archive is broken")
	}
	method := entry.Method
	var plain io.Reader
	if method == zipAES {
		plain, method, err = decryptAES(entry, raw, password)
	} else {
		plain, err = decryptZIP(entry, raw, password)
	}
	if err != nil {
		return nil, err
	}
	switch method {
	case zip.Store:
	case zip.Deflate:
		plain = flate.NewReader(plain)
	case 12:
		plain = bzip2.NewReader(plain)
	default:
		return nil, &Error{Reason: Unsupported, Detail: "it is compressed in a way that is not known here"}
	}
	if entry.CRC32 == 0 {
		return plain, nil
	}
	return &checkedReader{r: plain, sum: crc32.NewIEEE(), want: entry.CRC32}, nil
}

// checkedReader fails at the end of content that has another checksum.
type checkedReader struct {
	r    io.Reader
	sum  hash.Hash32
	want uint32
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && c.sum.Sum32() != c.want {
		return n, damaged("its content does not have the checksum that the archive says")
	}
	return n, err
}

// zipKeys is the cipher of PKWARE's APPNOTE, section 6.1.
type zipKeys struct {
	k [3]uint32
	r io.Reader
}

func decryptZIP(entry *zip.File, raw io.Reader, password string) (io.Reader, error) {
	z := &zipKeys{k: [3]uint32{0x12345678, 0x23456789, 0x34567890}, r: raw}
	for i := range len(password) {
		z.update(password[i])
	}
	var header [12]byte
	if _, err := io.ReadFull(z, header[:]); err != nil {
		return nil, damaged("its content in the archive is cut off")
	}
	const streamed = 8 // the checksum follows the content, and the time stands in for it
	check := byte(entry.CRC32 >> 24)
	if entry.Flags&streamed != 0 {
		check = byte(entry.ModifiedTime >> 8)
	}
	if header[11] != check {
		return nil, errPassword
	}
	return z, nil
}

func (z *zipKeys) update(b byte) {
	z.k[0] = crc32.IEEETable[byte(z.k[0])^b] ^ z.k[0]>>8
	z.k[1] = (z.k[1]+z.k[0]&0xff)*134775813 + 1
	z.k[2] = crc32.IEEETable[byte(z.k[2])^byte(z.k[1]>>24)] ^ z.k[2]>>8
}

func (z *zipKeys) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	for i, c := range p[:n] {
		t := z.k[2] | 2
		p[i] = c ^ byte(t*(t^1)>>8)
		z.update(p[i])
	}
	return n, err
}

// decryptAES decrypts an entry as WinZip does (AE-1 and AE-2), and returns its true method.
func decryptAES(entry *zip.File, raw io.Reader, password string) (io.Reader, uint16, error) {
	strength, method, ok := aesField(entry.Extra)
	if !ok {
		return nil, 0, damaged("the archive does not say how it is encrypted")
	}
	keySize, saltSize := 8+8*strength, 4+4*strength
	const verifierSize, macSize = 2, 10
	head := make([]byte, saltSize+verifierSize)
	size := int64(entry.CompressedSize64) - int64(len(head)) - macSize
	if _, err := io.ReadFull(raw, head); err != nil || size < 0 {
		return nil, 0, damaged("its content in the archive is cut off")
	}
	keys, err := pbkdf2.Key(sha1.New, password, head[:saltSize], 1000, 2*keySize+verifierSize)
	if err != nil {
		return nil, 0, &Error{Reason: Encrypted, Detail: "it is encrypted in a way that is not allowed here"}
	}
	if subtle.ConstantTimeCompare(keys[2*keySize:], head[saltSize:]) == 0 {
		return nil, 0, errPassword
	}
	block, err := aes.NewCipher(keys[:keySize])
	if err != nil {
		return nil, 0, damaged("the archive does not say how it is encrypted")
	}
	return &aesReader{
		r: io.LimitReader(raw, size), rest: raw, block: block, mac: hmac.New(sha1.New, keys[keySize:2*keySize]),
	}, method, nil
}

// aesField reads the extra field 0x9901: the strength from 1 to 3, and the method of compression.
func aesField(extra []byte) (strength int, method uint16, ok bool) {
	for len(extra) >= 4 {
		id, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; size > len(extra) {
			return 0, 0, false
		}
		if id == 0x9901 && size >= 7 {
			strength = int(extra[4])
			return strength, binary.LittleEndian.Uint16(extra[5:]), strength >= 1 && strength <= 3
		}
		extra = extra[size:]
	}
	return 0, 0, false
}

// aesReader decrypts in counter mode; the counter counts blocks from 1, little endian, unlike that
// of crypto/cipher.
type aesReader struct {
	r, rest io.Reader
	block   cipher.Block
	mac     hash.Hash
	counter [aes.BlockSize]byte
	stream  [aes.BlockSize]byte
	used    int // bytes of stream; 0 when a new block is due
}

func (a *aesReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	a.mac.Write(p[:n])
	for i := range p[:n] {
		if a.used == 0 {
			for k := range a.counter {
				if a.counter[k]++; a.counter[k] != 0 {
					break
				}
			}
			a.block.Encrypt(a.stream[:], a.counter[:])
		}
		p[i] ^= a.stream[a.used]
		a.used = (a.used + 1) % aes.BlockSize
	}
	if errors.Is(err, io.EOF) {
		var want [10]byte
		if _, short := io.ReadFull(a.rest, want[:]); short != nil || !hmac.Equal(want[:], a.mac.Sum(nil)[:len(want)]) {
			return n, damaged("its content is not what was encrypted")
		}
	}
	return n, err
}
