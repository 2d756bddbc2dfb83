package documents

import (
	"slices"
	"testing"
)

func TestSpellings_HoldHowAnAddressWasStored(t *testing.T) {
	t.Parallel()
	for given, stored := range map[string]string{
		"https://example.com/a":                    "https://example.com/a",
		"https:/example.com/a":                     "https://example.com/a",
		"HTTPS://Example.COM:443/a?utm_source=x#y": "https://example.com/a",
		"https://example.com/%7euser/":             "https://example.com/~user/",
		"https://example.com":                      "https://example.com/",
		"https://example.com/docs/":                "https://example.com/docs",
	} {
		if all := spellings(given); !slices.Contains(all, stored) {
			t.Errorf("%s: %q is not one of %q", given, stored, all)
		}
	}
}
