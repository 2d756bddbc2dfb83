package auth

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"parley/internal/access"
)

// Shared admits the users of another program, which signs tokens (JWT, HS256) with a secret that it shares with this
// server. The tokens are valid only for paths below Path, where anonymous callers are never admitted.
type Shared struct {
	Secret  []byte
	Path    string // ends with a slash
	Subject string // prefix of the callers' subjects; the member "id" of the token follows
}

// MinSecret is the minimum length of a shared secret, in bytes (RFC 7518, section 3.2).
const MinSecret = 32

// maxToken limits the length of a token, in bytes.
const maxToken = 8 << 10

// skew is the maximum difference between the clocks of two machines.
const skew = time.Minute

// governs reports whether the tokens are valid for a path.
func (s *Shared) governs(path string) bool { return s != nil && strings.HasPrefix(path, s.Path) }

// verify returns the caller of a token. They are editors, because the other program's users upload their own
// documents.
func (s *Shared) verify(token string, now time.Time) (access.Principal, error) {
	if len(token) > maxToken {
		return access.Principal{}, errors.New("the token is too long")
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return access.Principal{}, err
	}
	payload, err := signed.Verify(s.Secret)
	if err != nil {
		return access.Principal{}, err
	}
	var claims struct {
		ID        string   `json:"id"`
		Expires   *float64 `json:"exp"`
		NotBefore *float64 `json:"nbf"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return access.Principal{}, err
	}
	at := float64(now.Unix())
	switch {
	case claims.ID == "" || len(claims.ID) > 200 || strings.ContainsFunc(claims.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return access.Principal{}, errors.New("the token names nobody")
	case claims.Expires == nil || at > *claims.Expires+skew.Seconds():
		return access.Principal{}, errors.New("the token has expired, or does not say when it will")
	case claims.NotBefore != nil && at < *claims.NotBefore-skew.Seconds():
		return access.Principal{}, errors.New("the token is not valid yet")
	}
	return access.Principal{Subject: s.Subject + claims.ID, Role: access.Editor}, nil
}
