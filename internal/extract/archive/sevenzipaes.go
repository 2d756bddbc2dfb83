package archive

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/bodgit/sevenzip"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
)

// encryptedEntry decrypts a stream of a 7-Zip archive: AES-256 in CBC mode with a key from many rounds of
// SHA-256 (7zAes.cpp of 7-Zip). The library's own implementation also decrypts with an empty
// password, and does as many rounds as the archive asks for.
type encryptedEntry struct {
	io.Closer
	packed   io.Reader
	rounds   int // as a power of two
	salt, iv []byte
	chain    cipher.BlockMode
	ready    []byte // decrypted, and not yet read
	block    [4096]byte
}

var _ sevenzip.CryptoReadCloser = (*encryptedEntry)(nil)

// maxRounds is the maximum that 7-Zip itself supports. It writes 19.
const maxRounds = 24

var errNoPassword = &extract.Error{Reason: extract.Encrypted, Detail: "the archive needs a password"}

func openAES(properties []byte, _ uint64, packed []io.ReadCloser) (io.ReadCloser, error) {
	if len(properties) < 2 || len(packed) != 1 {
		return nil, errors.New("the properties of AES are broken")
	}
	first, second := int(properties[0]), int(properties[1])
	e := &encryptedEntry{Closer: packed[0], packed: packed[0], rounds: first & 0x3f, iv: make([]byte, aes.BlockSize)}
	salt, iv := first>>7+second>>4, first>>6&1+second&0xf
	if e.rounds > maxRounds || len(properties) != 2+salt+iv || iv > aes.BlockSize {
		return nil, errors.New("the properties of AES are broken")
	}
	e.salt = properties[2 : 2+salt]
	copy(e.iv, properties[2+salt:])
	return e, nil
}

// Password sets the key.
func (e *encryptedEntry) Password(password string) error {
	if password == "" {
		return errNoPassword
	}
	block, err := aes.NewCipher(keyOf(slices.Concat(e.salt, codepage.EncodeUTF16(password)), e.rounds))
	if err != nil {
		return err
	}
	e.chain = cipher.NewCBCDecrypter(block, e.iv)
	return nil
}

// lastKey is the last key that was derived. The files of an archive have the same key, and deriving it takes a tenth of
// a second.
var lastKey struct {
	sync.Mutex
	head   []byte
	rounds int
	key    []byte
}

func keyOf(head []byte, rounds int) []byte {
	lastKey.Lock()
	defer lastKey.Unlock()
	if lastKey.key != nil && lastKey.rounds == rounds && bytes.Equal(lastKey.head, head) {
		return lastKey.key
	}
	hash := sha256.New()
	round := append(slices.Clone(head), make([]byte, 8)...)
	for i := range uint64(1) << rounds {
		binary.LittleEndian.PutUint64(round[len(head):], i)
		hash.Write(round)
	}
	lastKey.head, lastKey.rounds, lastKey.key = head, rounds, hash.Sum(nil)
	return lastKey.key
}

func (e *encryptedEntry) Read(p []byte) (int, error) {
	if e.chain == nil {
		return 0, errNoPassword
	}
	if len(e.ready) == 0 {
		n, err := io.ReadFull(e.packed, e.block[:])
		if n -= n % aes.BlockSize; n == 0 {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return 0, err
		}
		e.chain.CryptBlocks(e.block[:n], e.block[:n])
		e.ready = e.block[:n]
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}
