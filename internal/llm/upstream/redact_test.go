package upstream

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRedact_LeavesNoKey(t *testing.T) {
	secret := Secret("short1")
	for _, text := range []string{
		"Incorrect API key provided: sk-proj-SECRETSECRET.",
		"header Authorization: Bearer SECRETx was refused",
		"key SECRETSECRETSECRETSECRETSECRETSECRET0123",
		"api-key=SECRETSECRET0",
		strings.Repeat("x ", 2*maxFailure/2-6) + "sk-SECRETSECRETSECRET",
		strings.Repeat("x", 10*maxFailure),
	} {
		got := secret.Redact([]byte(text))
		if strings.Contains(got, "SECRET") || len(got) > maxFailure+8 {
			t.Errorf("%.60q → %d bytes, %.60q", text, len(got), got)
		}
	}
	if got := secret.Redact([]byte("a\nb  short1, the model `gpt-4o` does not exist")); got != "a b [redacted], the model `gpt-4o` does not exist" {
		t.Errorf("got %q", got)
	}
	one := Secret("k")
	if got := one.Redact([]byte("for sk-SECRETSECRET")); strings.Contains(got, "SECRET") {
		t.Errorf("a short key hides a long one from the pattern: %q", got)
	}
	cut := []byte(strings.Repeat("x ", maxFailure) + "sk-SECRETSECRET")[:2*maxFailure]
	if got := secret.Redact(cut); strings.Contains(got, "SE") {
		t.Errorf("half a key: %q", got[len(got)-30:])
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", "-3", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "99999999999", time.Hour},
		{"Retry-After", "999999", time.Hour},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:05 GMT", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After-Ms", "-1", 0},
		{"X", "", 0},
	} {
		if got := retryAfter(http.Header{c.header: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s = %v, want %v", c.header, c.value, got, c.want)
		}
	}
}
