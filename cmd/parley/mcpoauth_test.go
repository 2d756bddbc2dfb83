package main

import (
	"strings"
	"testing"
)

func TestMCPOAuth_IsCheckedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		text, ok := map[string]string{"S": "secret", "K": "no key"}[name]
		return text, ok
	}
	for want, setting := range map[string]string{
		"exclude each other":         `{a: {url: "https://a.example/mcp", headers_env: {authorization: X}, oauth: {issuer: "https://i.example", client_id: c, client_secret_env: S}}}`,
		"servers with a url":         `{a: {command: [x], oauth: {issuer: "https://i.example", client_id: c, client_secret_env: S}}}`,
		"either client_secret":       `{a: {url: "https://a.example/mcp", oauth: {issuer: "https://i.example", client_id: c, client_secret_env: S, private_key_env: K}}}`,
		"variable N is not set":      `{a: {url: "https://a.example/mcp", oauth: {issuer: "https://i.example", client_id: c, client_secret_env: N}}}`,
		"variable K: it is not a":    `{a: {url: "https://a.example/mcp", oauth: {issuer: "https://i.example", client_id: c, private_key_env: K}}}`,
		"not an https URL":           `{a: {url: "https://a.example/mcp", oauth: {issuer: "http://i.example", client_id: c, client_secret_env: S}}}`,
		"":                           `{a: {url: "https://a.example/mcp", oauth: {issuer: "https://i.example", client_id: c, client_secret_env: S}}}`,
		"no place beside browser":    `{a: {url: "https://a.example/mcp", oauth: {browser: true, client_id: c, private_key_env: K}}}`,
		"a secret needs a client_id": `{a: {url: "https://a.example/mcp", oauth: {browser: true, issuer: "https://i.example", client_secret_env: S}}}`,
		"the issuer that may see":    `{a: {url: "https://a.example/mcp", oauth: {browser: true, client_id: c, client_secret_env: S}}}`,
		"variable M is not set":      `{a: {url: "https://a.example/mcp", oauth: {browser: true, client_id: c, client_secret_env: M}}}`,
	} {
		var l mcpServers
		err := l.UnmarshalText([]byte(setting))
		if err == nil {
			err = l.check()
		}
		if err == nil {
			_, err = (&program{lookupEnv: lookup}).mcpServer("a", content[map[string]mcpServer](l)["a"], nil)
		}
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret\"")) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
