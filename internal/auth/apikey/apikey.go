// Package apikey makes and checks the keys with which programs sign in.
//
//	parley_4f7kq2mzt3wd_3ZC6XB…
//	prefix id           secret, 256 random bits
//
// The id is not secret: it names the key in lists and logs. Only the SHA-256 of the secret is stored. A slow
// hash is not needed, because nobody can try 2^256 secrets.
package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/access"
)

// Prefix begins every key, so that secret scanners and people recognise it.
const Prefix = "parley_"

// SubjectPrefix begins the subjects of keys (access.Principal.Subject). No other caller has such a subject.
const SubjectPrefix = access.KeyPrefix

// ErrNotFound means that there is no key with that id.
var ErrNotFound = errors.New("no such key")

// Key is a key as it is stored.
type Key struct {
	ID         string
	Name       string // for people: what the key is for
	Role       access.Role
	Namespaces []string          // namespaces that it may use; nil means all
	Routes     []string          // paths that it may call; a final "*" matches all paths below; nil means all
	Hash       [sha256.Size]byte // of the secret
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero means never
	RevokedAt  time.Time // zero unless it was revoked
	UsedAt     time.Time // last use, accurate to about a minute; zero means never
}

// Limits of the fields of a key.
const (
	maxName = 200 // bytes
	maxList = 100 // namespaces, and routes
)

var encoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// Lengths of the random parts, in bytes.
const (
	idBytes     = 8
	secretBytes = 32
)

// New returns k with a new ID, hash and creation time, and the text that its holder sends to sign in. The text
// cannot be recovered later. k must have a Role; other fields are optional. The error is a sentence for the caller.
func New(k Key, now time.Time) (Key, string, error) {
	if err := k.check(now); err != nil {
		return Key{}, "", err
	}
	id, secret := random(idBytes), random(secretBytes)
	k.ID, k.Hash, k.CreatedAt = id, sha256.Sum256([]byte(secret)), now
	return k, Prefix + id + "_" + secret, nil
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return encoding.EncodeToString(b)
}

func (k Key) check(now time.Time) error {
	if !slices.Contains(access.Roles, k.Role) {
		return fmt.Errorf("%.40q is not a role; use reader, editor or administrator", string(k.Role))
	}
	if len(k.Name) > maxName {
		return fmt.Errorf("the name has more than %d bytes", maxName)
	}
	if len(k.Namespaces) > maxList || len(k.Routes) > maxList {
		return fmt.Errorf("a key may list at most %d namespaces and %d routes", maxList, maxList)
	}
	for _, route := range k.Routes {
		path, _ := strings.CutSuffix(route, "*")
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "*?# ") {
			return fmt.Errorf("%.80q is not a path such as /v1/models, or /v1/* for all below", route)
		}
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		return errors.New("the expiry time is in the past")
	}
	return nil
}

// parse splits the text of a key.
func parse(text string) (id string, hash [sha256.Size]byte, ok bool) {
	rest, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return "", hash, false
	}
	id, secret, ok := strings.Cut(rest, "_")
	if !ok || len(id) != encoding.EncodedLen(idBytes) || len(secret) != encoding.EncodedLen(secretBytes) {
		return "", hash, false
	}
	return id, sha256.Sum256([]byte(secret)), true
}

// IDOf returns the id of a key, given its text or its id.
func IDOf(s string) string {
	if id, _, ok := parse(s); ok {
		return id
	}
	return s
}

// State returns Valid, "revoked" or "expired".
func (k Key) State(now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return "expired"
	}
	return Valid
}

// Valid is the State of a key that can be used.
const Valid = "valid"

// opens reports, in constant time, whether the hash is that of the key's secret.
func (k Key) opens(hash [sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(k.Hash[:], hash[:]) == 1
}

// Principal returns the caller that signs in with the key. Data that it stores belongs to the key.
func (k Key) Principal() access.Principal {
	name := k.Name
	if name == "" {
		name = k.ID
	}
	return access.Principal{Subject: SubjectPrefix + k.ID, Name: name, Role: k.Role, Namespaces: k.Namespaces}
}

// Reaches reports whether the key may call a path.
func (k Key) Reaches(path string) bool {
	return k.Routes == nil || slices.ContainsFunc(k.Routes, func(route string) bool {
		if below, all := strings.CutSuffix(route, "*"); all {
			return strings.HasPrefix(path, below)
		}
		return strings.TrimSuffix(path, "/") == strings.TrimSuffix(route, "/")
	})
}

// Store keeps keys. It retains revoked and expired keys, so that they can still be listed.
type Store interface {
	// Key returns a key, or ErrNotFound.
	Key(ctx context.Context, id string) (Key, error)
	// HasValidKey reports whether there is a key that can be used at the given time.
	HasValidKey(ctx context.Context, at time.Time) (bool, error)
	// UsedKeys stores the time at which each key, by id, was last used.
	UsedKeys(ctx context.Context, used map[string]time.Time) error
}
