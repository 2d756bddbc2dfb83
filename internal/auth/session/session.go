// Package session keeps people signed in on the web page.
//
// A session is a random text in a cookie. The server stores the SHA-256 of its secret half, and how its holder
// signed in: with which API key, or with which claims of an identity provider. The rights of the holder are derived
// from that at each request, so that a session ends with its key and follows changes of the configuration.
package session

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"strings"
	"time"
)

// ErrNotFound means that there is no session with that id.
var ErrNotFound = errors.New("no such session")

// Session is a session as it is stored. Either Key or Issuer is set.
type Session struct {
	ID        string            // names it in lists; not secret
	Hash      [sha256.Size]byte // of the secret
	Subject   string            // of its holder when it began
	Name      string            // of its holder, for people
	Key       string            // id of the API key with which it began
	Issuer    string            // the identity provider
	Claims    []byte            // of the provider's ID token: a JSON object
	Sealed    []byte            // the ID token, encrypted so that only the session's secret opens it; see Open
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Store keeps sessions until they end.
type Store interface {
	// AddSession stores a new session, and deletes all but the newest sessions of its subject; most remain.
	AddSession(ctx context.Context, s Session, most int) error
	// Session returns a session, or ErrNotFound.
	Session(ctx context.Context, id string) (Session, error)
	// EndSession removes a session, or returns ErrNotFound.
	EndSession(ctx context.Context, id string) error
}

var encoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// Lengths of the random parts, in bytes.
const (
	idBytes     = 8
	secretBytes = 32
)

// random returns n random bytes, encoded as text.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return encoding.EncodeToString(b)
}

// begin completes a session and returns it with the text for the cookie. token is the provider's ID token, or "".
func begin(s Session, token string, now time.Time, lasts time.Duration) (Session, string) {
	id, secret := random(idBytes), random(secretBytes)
	s.ID, s.Hash, s.CreatedAt, s.ExpiresAt = id, sha256.Sum256([]byte(secret)), now, now.Add(lasts)
	if token != "" {
		s.Sealed = sealOf(secret).Seal(nil, make([]byte, nonceSize), []byte(token), []byte(id))
	}
	return s, id + "_" + secret
}

const nonceSize = 12

// sealOf returns the cipher for a session's ID token. Each key encrypts only one text, so the nonce can be fixed.
func sealOf(secret string) cipher.AEAD {
	key := sha256.Sum256([]byte("parley: the ID token of a session\n" + secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the length is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// Open returns the ID token of a session for the holder of its text, or "".
func (s Session) Open(text string) string {
	_, secret, _ := strings.Cut(text, "_")
	if s.Sealed == nil {
		return ""
	}
	token, err := sealOf(secret).Open(nil, make([]byte, nonceSize), s.Sealed, []byte(s.ID))
	if err != nil {
		return ""
	}
	return string(token)
}

// parse splits the text of a cookie.
func parse(text string) (id string, hash [sha256.Size]byte, ok bool) {
	id, secret, ok := strings.Cut(text, "_")
	if !ok || len(id) != encoding.EncodedLen(idBytes) || len(secret) != encoding.EncodedLen(secretBytes) {
		return "", hash, false
	}
	return id, sha256.Sum256([]byte(secret)), true
}

// opens reports, in constant time, whether the hash is that of the session's secret.
func (s Session) opens(hash [sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(s.Hash[:], hash[:]) == 1
}
