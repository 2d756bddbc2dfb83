package archive

import (
	"archive/zip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"parley/internal/extract"
	"parley/internal/extract/zipxml"
	"parley/internal/interrupt"
)

//nolint:gosec // the format prescribes it

// zipAES is the method of entries encrypted as WinZip does; the true method is in an extra field.
const zipAES = 99

// openEncrypted opens an entry with the first password that fits. It reads the content to its end before it returns
// any of it: the cipher checks only one or two bytes of a password, which a wrong password passes now and then, and
// only the checksum at the end shows that nobody has changed the content.
func openEncrypted(ctx context.Context, f *extract.File, archive *zipxml.Archive, entry *zip.File) (io.ReadCloser, error) {
	refused := &extract.Error{Reason: extract.Encrypted, Detail: "it needs a password"}
	if len(f.Passwords) > 0 {
		refused.Detail = "none of the passwords given opens it"
	}
	for _, password := range f.Passwords {
		open := func() (io.ReadCloser, error) {
			r, err := decryptEntry(ctx, entry, password)
			if err != nil {
				return nil, err
			}
			return archive.Bounded(io.NopCloser(r), entry), nil
		}
		r, err := open()
		if err == nil {
			_, err = io.Copy(io.Discard, interrupt.Reader(ctx, r))
		}
		switch {
		case err == nil:
			return open()
		case errors.Is(err, errPassword):
			continue
		case zipxml.IsSyntaxError(err): // in the compressed data
			err = changed()
		}
		var typed *extract.Error
		if !errors.As(err, &typed) {
			return nil, err
		}
		refused = typed
	}
	return nil, refused
}

var errPassword = errors.New("wrong password")

// changed returns the error for content that a password seems to open but that is not the encrypted original.
func changed() *extract.Error {
	return extract.Damagedf("its content does not have its checksum: it was changed or is cut off, or it has another password")
}

func decryptEntry(ctx context.Context, entry *zip.File, password string) (io.Reader, error) {
	raw, err := entry.OpenRaw()
	if err != nil {
		return nil, extract.Damagedf("its place in the archive is broken")
	}
	checked := &checkedReader{sum: crc32.NewIEEE(), want: entry.CRC32, left: int64(entry.UncompressedSize64)}
	method := entry.Method
	var plain io.Reader
	if method == zipAES {
		plain, method, err = decryptAES(ctx, entry, raw, password)
		checked.unsummed = entry.CRC32 == 0 // AE-2 has only the authentication code
	} else {
		plain, err = decryptZIP(entry, raw, password)
	}
	if err != nil {
		return nil, err
	}
	if checked.r = zipxml.Decompress(method, plain); checked.r == nil {
		return nil, unknownMethod()
	}
	return checked, nil
}

// checkedReader fails at the end of content whose checksum or length differs from what the archive says.
type checkedReader struct {
	r        io.Reader
	sum      hash.Hash32
	want     uint32
	unsummed bool // there is no checksum
	left     int64
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	c.left -= int64(n)
	if c.left < 0 || errors.Is(err, io.EOF) && (c.left != 0 || !c.unsummed && c.sum.Sum32() != c.want) {
		return n, changed()
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
		return nil, extract.Damagedf("its content in the archive is cut off")
	}
	const streamed = 8 // the checksum follows the content, so the header is checked against the time instead
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

// decryptAES decrypts an entry as WinZip does (AE-1 and AE-2), and returns its true method. When it
// returns, the authentication code has been checked.
func decryptAES(ctx context.Context, entry *zip.File, raw io.Reader, password string) (io.Reader, uint16, error) {
	strength, method, ok := aesField(entry.Extra)
	if !ok {
		return nil, 0, extract.Damagedf("the archive does not say how it is encrypted")
	}
	keySize, saltSize := 8+8*strength, 4+4*strength
	const verifierSize, macSize = 2, 10
	head := make([]byte, saltSize+verifierSize)
	size := int64(entry.CompressedSize64) - int64(len(head)) - macSize
	if _, err := io.ReadFull(raw, head); err != nil || size < 0 {
		return nil, 0, extract.Damagedf("its content in the archive is cut off")
	}
	keys, err := pbkdf2.Key(sha1.New, password, head[:saltSize], 1000, 2*keySize+verifierSize)
	if err != nil {
		return nil, 0, &extract.Error{Reason: extract.Encrypted, Detail: "it is encrypted with a method that Parley does not support"}
	}
	if subtle.ConstantTimeCompare(keys[2*keySize:], head[saltSize:]) == 0 {
		return nil, 0, errPassword
	}
	mac, want := hmac.New(sha1.New, keys[keySize:2*keySize]), make([]byte, macSize)
	if _, err := io.CopyN(mac, interrupt.Reader(ctx, raw), size); err != nil {
		return nil, 0, errCutOff(ctx)
	}
	if _, err := io.ReadFull(raw, want); err != nil {
		return nil, 0, errCutOff(ctx)
	}
	if !hmac.Equal(want, mac.Sum(nil)[:macSize]) {
		return nil, 0, changed()
	}
	again, err := entry.OpenRaw()
	if err == nil {
		_, err = io.CopyN(io.Discard, again, int64(len(head)))
	}
	block, bad := aes.NewCipher(keys[:keySize])
	if err != nil || bad != nil {
		return nil, 0, extract.Damagedf("its place in the archive is broken")
	}
	return &aesReader{r: io.LimitReader(again, size), block: block}, method, nil
}

func errCutOff(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return extract.Damagedf("its content in the archive is cut off")
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
	r       io.Reader
	block   cipher.Block
	counter [aes.BlockSize]byte
	stream  [aes.BlockSize]byte
	used    int // bytes of stream; 0 when a new block is due
}

func (a *aesReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
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
	return n, err
}
