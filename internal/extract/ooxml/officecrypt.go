package ooxml

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"hash"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/cfb"
	"parley/internal/extract/codepage"
	"parley/internal/extract/zipxml"
)

//nolint:gosec // the format prescribes it

// unlockOffice decrypts an encrypted document of Office (MS-OFFCRYPTO) in place with the first password that fits. Other
// files stay as they are.
func unlockOffice(f *extract.File) error {
	if !bytes.HasPrefix(f.Head, []byte(cfb.Magic)) {
		return nil
	}
	c, err := cfb.Open(f.Content, f.Size)
	if err != nil {
		return nil //nolint:nilerr // the format is recognised later
	}
	pack, info := c.Root().Named("EncryptedPackage"), c.Root().Named("EncryptionInfo")
	if pack == nil {
		return nil
	}
	scheme := readScheme(info.Bytes(1 << 20))
	if scheme == nil {
		return &extract.Error{Reason: extract.Encrypted, Detail: "the document is encrypted with a method that Parley does not support"}
	}
	for _, password := range append(slices.Clip(f.Passwords), defaultPassword) {
		key, ok := scheme.unlock(codepage.EncodeUTF16(password))
		if !ok {
			continue
		}
		data := pack.Bytes(lockedBytes)
		if data == nil {
			return extract.TooLargef("the document is encrypted, and at most %s of such are read", extract.Megabytes(lockedBytes))
		}
		plain, err := scheme.decrypt(key, data)
		if err != nil {
			return err
		}
		if len(plain) == 0 {
			return tampered()
		}
		f.Replace(plain)
		if !scheme.vouches() && !zipxml.WholeZIP(f) {
			return tampered()
		}
		return nil
	}
	if len(f.Passwords) > 0 {
		return &extract.Error{Reason: extract.Encrypted, Detail: "none of the passwords given opens the document"}
	}
	return &extract.Error{Reason: extract.Encrypted, Detail: "the document needs a password"}
}

// lockedBytes is the maximum size of an encrypted document, which is held in memory.
const lockedBytes = 100 << 20

// defaultPassword is the password of workbooks that Excel only protects against changes.
const defaultPassword = "VelvetSweatshop"

// lockScheme is a method of encryption.
type lockScheme interface {
	unlock(password []byte) (key []byte, ok bool)
	// decrypt changes data, which is the whole stream, and returns the document in it.
	decrypt(key, data []byte) ([]byte, error)
	// vouches reports whether decrypt has checked the integrity of the document.
	vouches() bool
}

func tampered() *extract.Error {
	return extract.Damagedf("the encrypted document is cut off, or is not what was encrypted")
}

// readScheme reads the stream EncryptionInfo; nil for an unknown scheme.
func readScheme(info []byte) lockScheme {
	if len(info) < 8 {
		return nil
	}
	major, minor := binary.LittleEndian.Uint16(info), binary.LittleEndian.Uint16(info[2:])
	switch {
	case major == 4 && minor == 4:
		return readAgile(info[8:])
	case major >= 2 && major <= 4 && minor == 2:
		return readStandard(info[8:])
	}
	return nil
}

// agileLock is agile encryption (section 2.3.4.10).
type agileLock struct {
	data, key agileParams
	spins     int
	input     []byte // the verifier, its hash and the key of the document, all encrypted
	hash      []byte
	value     []byte
	macKey    []byte // the key and the value of the stream's HMAC, encrypted
	macValue  []byte
}

// agileParams are the parameters of the cipher and hash for one purpose.
type agileParams struct {
	salt      []byte
	keyBytes  int
	blockSize int
	hash      func() hash.Hash
}

// maxSpins bounds the work on one password; Office uses 100,000.
const maxSpins = 1_000_000

// agileAttributes are the attributes that keyData and encryptedKey share.
type agileAttributes struct {
	Salt      string `xml:"saltValue,attr"`
	KeyBits   int    `xml:"keyBits,attr"`
	BlockSize int    `xml:"blockSize,attr"`
	Cipher    string `xml:"cipherAlgorithm,attr"`
	Mode      string `xml:"cipherChaining,attr"`
	Hash      string `xml:"hashAlgorithm,attr"`
}

// params checks the attributes; false if any is unknown.
func (a agileAttributes) params() (agileParams, bool) {
	p := agileParams{salt: fromBase64(a.Salt), keyBytes: a.KeyBits / 8, blockSize: a.BlockSize}
	switch strings.ToUpper(a.Hash) {
	case "SHA1", "SHA-1":
		p.hash = sha1.New
	case "SHA256", "SHA-256":
		p.hash = sha256.New
	case "SHA384", "SHA-384":
		p.hash = sha512.New384
	case "SHA512", "SHA-512":
		p.hash = sha512.New
	default:
		return p, false
	}
	known := a.Cipher == "AES" && a.Mode == "ChainingModeCBC" && a.BlockSize == aes.BlockSize && len(p.salt) > 0
	return p, known && (p.keyBytes == 16 || p.keyBytes == 24 || p.keyBytes == 32)
}

func fromBase64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	if err != nil {
		return nil
	}
	return b
}

func readAgile(data []byte) lockScheme {
	var doc struct {
		Data agileAttributes `xml:"keyData"`
		MAC  struct {
			Key   string `xml:"encryptedHmacKey,attr"`
			Value string `xml:"encryptedHmacValue,attr"`
		} `xml:"dataIntegrity"`
		Keys []struct {
			agileAttributes
			Spins int    `xml:"spinCount,attr"`
			Input string `xml:"encryptedVerifierHashInput,attr"`
			Hash  string `xml:"encryptedVerifierHashValue,attr"`
			Value string `xml:"encryptedKeyValue,attr"`
		} `xml:"keyEncryptors>keyEncryptor>encryptedKey"`
	}
	if xml.Unmarshal(data, &doc) != nil {
		return nil
	}
	for _, k := range doc.Keys {
		l := &agileLock{spins: k.Spins, input: fromBase64(k.Input), hash: fromBase64(k.Hash), value: fromBase64(k.Value)}
		l.macKey, l.macValue = fromBase64(doc.MAC.Key), fromBase64(doc.MAC.Value)
		var known, ok bool
		l.data, known = doc.Data.params()
		l.key, ok = agileAttributes{k.Salt, k.KeyBits, k.BlockSize, k.Cipher, k.Mode, k.agileAttributes.Hash}.params()
		if known && ok && k.Spins >= 0 && k.Spins <= maxSpins {
			return l
		}
	}
	return nil
}

// The keys for the parts of an encrypted key (section 2.3.4.13).
var (
	agileInput = []byte{0xfe, 0xa7, 0xd2, 0x76, 0x3b, 0x4b, 0x9e, 0x79}
	agileHash  = []byte{0xd7, 0xaa, 0x0f, 0x6d, 0x30, 0x61, 0x34, 0x4e}
	agileValue = []byte{0x14, 0x6e, 0x0b, 0xe7, 0xab, 0xac, 0xd0, 0xd6}

	// The keys for the HMAC (section 2.3.4.14).
	agileMACKey   = []byte{0x5f, 0xb2, 0xad, 0x01, 0x0c, 0xb9, 0xe1, 0xf6}
	agileMACValue = []byte{0xa0, 0x67, 0x7f, 0x02, 0xb2, 0x2c, 0x84, 0x33}
)

func (l *agileLock) unlock(password []byte) ([]byte, bool) {
	h := digest(l.key.hash, l.key.salt, password)
	for i := range l.spins {
		h = digest(l.key.hash, binary.LittleEndian.AppendUint32(nil, uint32(i)), h)
	}
	open := func(purpose, secret []byte) []byte {
		return decryptCBC(fit(digest(l.key.hash, h, purpose), l.key.keyBytes), fit(l.key.salt, l.key.blockSize), secret)
	}
	input, want := open(agileInput, l.input), open(agileHash, l.hash)
	got := digest(l.key.hash, input)
	if len(input) == 0 || len(want) < len(got) || subtle.ConstantTimeCompare(got, want[:len(got)]) == 0 {
		return nil, false
	}
	value := open(agileValue, l.value)
	return value[:min(len(value), l.data.keyBytes)], len(value) >= l.data.keyBytes
}

func (l *agileLock) vouches() bool { return true }

// decrypt checks the HMAC of the stream, and decrypts segments of 4,096 bytes, each of which has its own
// initial vector.
func (l *agileLock) decrypt(key, data []byte) ([]byte, error) {
	if !l.authentic(key, data) {
		return nil, tampered()
	}
	const segment = 4096
	size, data, ok := packageSize(data)
	if !ok {
		return nil, tampered()
	}
	for i := 0; i*segment < len(data); i++ {
		part := data[i*segment : min(len(data), (i+1)*segment)]
		copy(part, decryptCBC(key, l.vector(binary.LittleEndian.AppendUint32(nil, uint32(i))), part))
	}
	return data[:size], nil
}

// authentic reports whether the stream is unchanged since its encryption. The format requires an HMAC (section
// 2.3.4.14), so a document without one is not complete.
func (l *agileLock) authentic(key, data []byte) bool {
	secret := decryptCBC(key, l.vector(agileMACKey), l.macKey)
	want := decryptCBC(key, l.vector(agileMACValue), l.macValue)
	n := l.data.hash().Size()
	if len(secret) < n || len(want) < n {
		return false
	}
	mac := hmac.New(l.data.hash, secret[:n])
	mac.Write(data)
	return hmac.Equal(mac.Sum(nil), want[:n])
}

// vector returns the initial vector for a part of the document.
func (l *agileLock) vector(of []byte) []byte {
	return fit(digest(l.data.hash, l.data.salt, of), l.data.blockSize)
}

// packageSize removes the size of the document from the beginning of the stream.
func packageSize(data []byte) (size int, rest []byte, ok bool) {
	if len(data) < 8 {
		return 0, nil, false
	}
	n := binary.LittleEndian.Uint64(data)
	rest = data[8:]
	return int(n), rest, n <= uint64(len(rest))
}

func digest(of func() hash.Hash, parts ...[]byte) []byte {
	h := of()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// fit cuts bytes to a length, or pads them as in section 2.3.4.11.
func fit(b []byte, n int) []byte {
	out := bytes.Repeat([]byte{0x36}, n)
	copy(out, b)
	return out
}

// decryptCBC decrypts whole blocks.
func decryptCBC(key, iv, secret []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(iv) != aes.BlockSize {
		return nil
	}
	out := make([]byte, len(secret)/aes.BlockSize*aes.BlockSize)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, secret[:len(out)])
	return out
}

// standardLock is standard encryption (section 2.3.4.5), of Office 2007.
type standardLock struct {
	keyBytes       int
	salt           []byte
	verifier, hash []byte // encrypted
}

func readStandard(data []byte) lockScheme {
	if len(data) < 4 {
		return nil
	}
	size := int64(binary.LittleEndian.Uint32(data))
	if data = data[4:]; size < 32 || int64(len(data)) < size+4+16+16+4+32 {
		return nil
	}
	algorithm, bits := binary.LittleEndian.Uint32(data[8:]), int(binary.LittleEndian.Uint32(data[16:]))
	verifier := data[size:]
	const aes128, aes192, aes256 = 0x660e, 0x660f, 0x6610
	if algorithm != aes128 && algorithm != aes192 && algorithm != aes256 || bits != 128 && bits != 192 && bits != 256 || binary.LittleEndian.Uint32(verifier) != 16 {
		return nil
	}
	return &standardLock{keyBytes: bits / 8, salt: verifier[4:20], verifier: verifier[20:36], hash: verifier[40:72]}
}

// unlock derives the key from the password (section 2.3.4.7) and tries it on the verifier.
func (l *standardLock) unlock(password []byte) ([]byte, bool) {
	h := digest(sha1.New, l.salt, password)
	for i := range 50_000 {
		h = digest(sha1.New, binary.LittleEndian.AppendUint32(nil, uint32(i)), h)
	}
	h = digest(sha1.New, h, make([]byte, 4))
	var key []byte
	for _, pad := range []byte{0x36, 0x5c} {
		buffer := bytes.Repeat([]byte{pad}, 64)
		subtle.XORBytes(buffer, buffer, h)
		key = append(key, digest(sha1.New, buffer)...)
	}
	key = key[:l.keyBytes]
	got, want := digest(sha1.New, decryptECB(key, l.verifier)), decryptECB(key, l.hash)
	return key, subtle.ConstantTimeCompare(got, want[:len(got)]) == 1
}

// vouches returns false: nothing in the format shows whether the document was changed.
func (l *standardLock) vouches() bool { return false }

func (l *standardLock) decrypt(key, data []byte) ([]byte, error) {
	size, data, ok := packageSize(data)
	if whole := len(data) / aes.BlockSize * aes.BlockSize; !ok || size > whole {
		return nil, tampered()
	}
	return decryptECB(key, data)[:size], nil
}

func decryptECB(key, secret []byte) []byte {
	out := make([]byte, len(secret)/aes.BlockSize*aes.BlockSize)
	block, err := aes.NewCipher(key)
	if err != nil {
		return out
	}
	for i := 0; i < len(out); i += aes.BlockSize {
		block.Decrypt(out[i:], secret[i:])
	}
	return out
}
