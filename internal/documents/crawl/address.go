package crawl

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// maxURL is the maximum length of an address in bytes.
const maxURL = 2048

// The faults of an address.
var (
	errNotWeb   = errors.New("it is not an http or https address")
	errTooLong  = errors.New("it is too long for an address")
	errUserInfo = errors.New("it holds a user name or a password")
	errNoHost   = errors.New("it has no host that can be read")
)

// Normalise returns the normal form of an address, so that one page has one address (RFC 3986, section 6): host
// and scheme in lower case, no default port, no dot segments, no needless escapes, no fragment, and no tracking
// parameters.
func Normalise(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return "", errNotWeb
	}
	if u, err = normalise(u); err != nil {
		return "", err
	}
	return u.String(), nil
}

func normalise(u *url.URL) (*url.URL, error) {
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" || u.Opaque != "" {
		return nil, errNotWeb
	}
	if u.User != nil {
		return nil, errUserInfo
	}
	host, err := normaliseHost(u, scheme)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(u.Path, "\x00\r\n\t") {
		return nil, errNotWeb
	}
	out := &url.URL{Scheme: scheme, Host: host, RawQuery: normaliseQuery(u.RawQuery)}
	escaped := withoutSessions(normaliseEscapes(u.EscapedPath()))
	escaped = (&url.URL{}).ResolveReference(&url.URL{Path: "/" + strings.TrimLeft(escaped, "/")}).Path
	escaped = "/" + strings.TrimLeft(escaped, "/") // "/.//x" has become "//x"
	if out.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, errNotWeb
	}
	out.RawPath = escaped
	if s := out.String(); len(s) > maxURL {
		return nil, errTooLong
	}
	return out, nil
}

func normaliseHost(u *url.URL, scheme string) (string, error) {
	name := strings.ToLower(u.Hostname())
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	} else if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	} else if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e || r <= ' ' }) {
		return "", errNoHost
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" || strings.HasSuffix(name, ".") {
		return "", errNoHost
	}
	port := u.Port()
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return name, nil
	}
	return name + ":" + port, nil
}

// normaliseEscapes unescapes characters that need no escape (RFC 3986, section 6.2.2), and writes other
// escapes in upper case. It keeps invalid escapes.
func normaliseEscapes(s string) string {
	for strings.Contains(s, "%") {
		next := unescapeOnce(s)
		if next == s {
			break
		}
		s = next // "%%37%35" has become the valid "%75"
	}
	return s
}

func unescapeOnce(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b.WriteByte(s[i])
			continue
		}
		if c := unhex(s[i+1])<<4 | unhex(s[i+2]); isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// isUnreserved reports whether escaping c does not change the meaning of an address. Some marks are
// unreserved only in RFC 2396 (section 2.3), and programs differ in which of them they escape.
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~' || c == '(' || c == ')' || c == '!' || c == '\''
}

// tracking lists parameters that identify visitors or where they came from, not the page.
var tracking = []string{
	"fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
	"mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "oly_anon_id", "oly_enc_id", "vero_id",
	"phpsessid", "jsessionid", "aspsessionid",
}

func isTracking(parameter string) bool {
	name, _, _ := strings.Cut(parameter, "=")
	name = strings.ToLower(name)
	return name == "" || strings.HasPrefix(name, "utm_") || slices.Contains(tracking, name)
}

// normaliseQuery drops tracking parameters, and escapes spaces and non-ASCII characters. It keeps the order
// of the other parameters, which may have a meaning.
func normaliseQuery(query string) string {
	if query == "" {
		return ""
	}
	parameters := slices.DeleteFunc(strings.Split(normaliseEscapes(query), "&"), isTracking)
	var b strings.Builder
	for _, c := range []byte(strings.Join(parameters, "&")) {
		if ' ' < c && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// withoutSessions drops the path parameter in which Java servers keep session ids.
func withoutSessions(escaped string) string {
	const name = ";jsessionid="
	for i := 0; i+len(name) <= len(escaped); i++ {
		if !strings.EqualFold(escaped[i:i+len(name)], name) {
			continue
		}
		end := strings.IndexByte(escaped[i:], '/')
		if end < 0 {
			return escaped[:i]
		}
		escaped = escaped[:i] + escaped[i+end:]
	}
	return escaped
}

// Name returns the citation name of a page: its address without the scheme, as a clean relative path.
func Name(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "page"
	}
	parts := []string{u.Host}
	for part := range strings.SplitSeq(u.Path, "/") {
		switch part {
		case "":
		case ".", "..":
			parts = append(parts, strings.Repeat("_", len(part)))
		default:
			parts = append(parts, part)
		}
	}
	name := strings.Join(parts, "/")
	if query, err := url.QueryUnescape(u.RawQuery); err == nil && query != "" {
		name += "?" + strings.ReplaceAll(query, "/", "_")
	}
	return name
}

// scope is the part of a site that is read: a host, and a path on it with everything below.
type scope struct {
	host, path, query string
}

// newScope returns the scope of a site. A prefix is an address, or a path on the host of the first page.
// Without a prefix, the scope is the folder of the first page, or all articles of a wiki.
func newScope(first string, site Site) (scope, error) {
	base, err := url.Parse(first)
	switch {
	case err != nil:
		return scope{}, errNotWeb
	case site.Prefix == "":
		return site.around(base), nil
	}
	u, err := base.Parse(site.Prefix)
	if err == nil {
		u, err = normalise(u)
	}
	if err != nil {
		return scope{}, err
	}
	return scope{host: u.Host, path: u.EscapedPath(), query: u.RawQuery}, nil
}

// around returns the scope of a site without a prefix whose first page is u.
func (s Site) around(u *url.URL) scope {
	if s.MediaWiki {
		return articlesOf(u)
	}
	return folderOf(u)
}

// folderOf returns the scope of a page. It takes a last part without an extension for a folder, so that
// /docs means the pages below it and not the whole host.
func folderOf(u *url.URL) scope {
	p := u.EscapedPath()
	if dir, last := path.Split(p); strings.Contains(last, ".") {
		p = dir
	}
	return scope{host: u.Host, path: p}
}

// holds reports whether a normalised address is in the scope. It ignores the scheme, because a site is
// the same with and without encryption.
func (s scope) holds(u *url.URL) bool {
	if u.Host != s.host {
		return false
	}
	p := u.EscapedPath()
	if s.query != "" {
		return p == s.path && strings.HasPrefix(u.RawQuery, s.query)
	}
	return p == s.path || strings.HasPrefix(p, s.path) && (strings.HasSuffix(s.path, "/") || p[len(s.path)] == '/')
}

// neverText lists extensions of files without text. They are not requested.
var neverText = []string{
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".ico", ".bmp", ".avif", ".tif", ".tiff",
	".css", ".js", ".mjs", ".map", ".wasm", ".woff", ".woff2", ".ttf", ".otf", ".eot",
	".mp3", ".mp4", ".m4a", ".m4v", ".avi", ".mov", ".mkv", ".webm", ".ogg", ".ogv", ".wav", ".flac",
	".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".jar", ".whl", ".deb", ".rpm",
	".exe", ".msi", ".dmg", ".pkg", ".iso", ".bin", ".apk", ".sig", ".asc", ".sha256",
}

// mayBeText reports whether a linked address is worth requesting.
func mayBeText(u *url.URL) bool {
	return !slices.Contains(neverText, strings.ToLower(path.Ext(u.Path)))
}
