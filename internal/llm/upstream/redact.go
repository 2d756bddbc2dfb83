package upstream

import (
	"strings"

	"parley/internal/lazyregexp"
)

// Secret is the key of an upstream; "" when it needs none.
type Secret string

// secrets matches what looks like a key: a known prefix with a tail, a bearer token, and any run
// of 32 or more characters of the usual alphabets.
var secrets = lazyregexp.New(`(?i)bearer\s+\S+|\b(?:sk|pk|rk|xai|gsk|key|api[-_]?key|AIza|ghp|eyJ)[-_=:]*[A-Za-z0-9][-_.A-Za-z0-9]{7,}|[-_A-Za-z0-9+/=]{32,}`)

// Redact returns at most 2 KiB of an upstream's text on one line, without the secret and without
// anything else that looks like a key.
func (secret Secret) Redact(text []byte) string {
	s, key := strings.ToValidUTF8(string(text), ""), string(secret)
	if len(key) >= 8 { // whole, before the pattern sees a part of it
		s = strings.ReplaceAll(s, key, "[redacted]")
	}
	if len(text) >= 2*maxFailure { // a key may have been cut in two at the end
		s = s[:strings.LastIndexAny(s, " \n\"")+1]
	}
	s = secrets.ReplaceAllString(s, "[redacted]")
	if key != "" {
		s = strings.ReplaceAll(s, key, "[redacted]")
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxFailure {
		s = strings.ToValidUTF8(s[:maxFailure], "") + "…"
	}
	return s
}
