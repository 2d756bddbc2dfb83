package code

import (
	"slices"
	"strings"
	"unicode"

	"parley/internal/lazyregexp"
)

var (
	// setting matches a setting; its groups are the text before the value, the name, and the value.
	setting = lazyregexp.New(`^(\s*(?:-\s+)?(?:export\s+|set\s+)?["']?([\p{L}_][\p{L}\d_. -]*?)["']?\s*[:=]\s*)(.*)$`)
	// envSetting is the same for an env file, where only = may follow a name: "x:" can be the rest of a value.
	envSetting = lazyregexp.New(`^(\s*(?:export\s+|set\s+)?([\p{L}_][\p{L}\d_. -]*?)\s*=\s*)(.*)$`)
	// assignment is a setting within a line: {user: a, password: b}, Server=c;Password=d.
	assignment = lazyregexp.New(`([\p{L}_][\p{L}\d_.-]*)(["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;}&"']+)`)
	// secretInURL is the password in an address: scheme://user:password@host.
	secretInURL = lazyregexp.New(`(://[^\s:/@]*:)[^\s/@]+@`)
	// secretBlock matches the first line of a private key.
	secretBlock = lazyregexp.New(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)

	kubernetesSecret = lazyregexp.New(`(?m)^kind:\s*["']?Secret["']?\s*$`)
)

// leftOut replaces a value that is left out.
const leftOut = "…"

// Words in the names of settings. A setting is a secret if its name has one of secretWords, or "key" after one of
// secretKeys, unless the name ends with one of aboutWords, as in password_file.
var (
	secretWords = []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials", "apikey", "accesskey", "privatekey", "dsn"}
	secretKeys  = []string{"api", "access", "private", "secret", "signing", "encryption", "master", "account", "shared", "auth", "session", "jwt"}
	aboutWords  = []string{"name", "file", "path", "url", "uri", "endpoint", "ttl", "expiry", "expires", "expiration", "length", "size", "enabled", "required",
		"policy", "type", "ref", "field", "header", "timeout", "limit", "count", "seconds", "minutes", "days", "ring", "algorithm", "issuer", "audience", "prefix"}
)

// isSecret reports whether the value of a setting may be a secret.
func (r *configReader) isSecret(name string) bool {
	if r.kubernetes && (name == "data" || name == "stringData") {
		return true
	}
	words := wordsOf(name)
	if len(words) == 0 || slices.Contains(aboutWords, words[len(words)-1]) {
		return false
	}
	for i, word := range words {
		if slices.Contains(secretWords, word) || word == "key" && i > 0 && slices.Contains(secretKeys, words[i-1]) ||
			word == "string" && i > 0 && words[i-1] == "connection" {
			return true
		}
	}
	return false
}

// wordsOf returns the words of a name in lower case. They are the same for DB_PASSWORD, dbPassword and db.password.
func wordsOf(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// withoutSecret returns a line without the values that may be secrets.
func (r *configReader) withoutSecret(line string) string {
	text := strings.TrimLeft(line, " \t")
	comment := strings.HasPrefix(text, "#") || !r.env && (strings.HasPrefix(text, ";") || strings.HasPrefix(text, "//"))
	pattern := setting
	if r.env {
		pattern = envSetting
	}
	m := pattern.FindStringSubmatch(strings.TrimLeft(text, "#;/ \t"))
	switch {
	case secretBlock.MatchString(line):
		r.secrets, r.hiding, r.until = r.secrets+1, true, "-----END"
		return line[:strings.Index(line, "-----BEGIN")] + leftOut
	case m == nil && r.env && !comment: // the value of the previous line continues
		r.secrets++
		return leftOut
	case m != nil && r.isLeftOut(m[2], m[3], comment):
		r.secrets++
		if !comment {
			r.hide(line, m[3])
		}
		return line[:len(line)-len(m[3])] + leftOut
	}
	return r.withoutInner(line)
}

// isLeftOut reports whether the value of a setting is left out. Comments of an env file are text, unless they are
// settings that are commented out.
func (r *configReader) isLeftOut(name, value string, comment bool) bool {
	if r.env {
		return value != "" && (!comment || !strings.Contains(name, " "))
	}
	return r.isSecret(name) && (value != "" || r.yaml)
}

// withoutInner returns a line without secrets inside a value.
func (r *configReader) withoutInner(line string) string {
	out := secretInURL.ReplaceAllString(line, "${1}"+leftOut+"@")
	out = assignment.ReplaceAllStringFunc(out, func(found string) string {
		m := assignment.FindStringSubmatch(found)
		if !r.isSecret(m[1]) {
			return found
		}
		return m[1] + m[2] + leftOut
	})
	if out != line {
		r.secrets++
	}
	return out
}

// hide makes isHidden leave out the following lines on which a value continues.
func (r *configReader) hide(line, value string) {
	r.hidden, r.hiding, r.until = indent(line), r.yaml, ""
	for _, quotes := range []string{`"""`, `'''`, `"`, `'`} {
		if rest, ok := strings.CutPrefix(value, quotes); ok {
			if !strings.Contains(rest, quotes) {
				r.hiding, r.until = true, quotes
			}
			return
		}
	}
}
