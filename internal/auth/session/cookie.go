package session

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// cookieName is the name of the session cookie. Browsers on this machine may reach the server without TLS. Only then is
// the cookie not Secure, and not bound to the host by the prefix of its name (RFC 6265bis section 4.1.3).
const cookieName = "parley-session"

// Site is the server as browsers reach it.
type Site struct {
	PublicURL string // "" if it is not configured
}

// IsPlain reports whether a request came without TLS to a name of this machine, where cookies need not be Secure.
func (s Site) IsPlain(r *http.Request) bool {
	if s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		return err == nil && u.Scheme == "http" && isLocal(u.Hostname()) && isLocal(hostOf(r))
	}
	return r.TLS == nil && isLocal(hostOf(r)) && r.Header.Get("X-Forwarded-Proto") == "" && r.Header.Get("X-Forwarded-For") == ""
}

// IsSafe reports whether the response may set cookies that sign a person in: the browser reaches the server by https,
// as far as can be told, or on this machine.
func (s Site) IsSafe(r *http.Request) bool {
	if s.IsPlain(r) {
		return true
	}
	if s.PublicURL != "" {
		return strings.HasPrefix(s.PublicURL, "https:")
	}
	// The headers are those of a proxy that terminates TLS, and of the browser. If they are false, the only result is a
	// Secure cookie that browsers do not send.
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https:")
}

// Base returns the URL at which the browser that sent a request reaches the server, without a trailing slash.
func (s Site) Base(r *http.Request) string {
	if s.PublicURL != "" {
		return strings.TrimRight(s.PublicURL, "/")
	}
	if s.IsPlain(r) {
		return "http://" + r.Host
	}
	return "https://" + r.Host
}

// Name returns the name of a cookie for the site, with the prefix __Host- if the cookie is Secure.
func (s Site) Name(r *http.Request, name string) string {
	if s.IsPlain(r) {
		return name
	}
	return "__Host-" + name
}

// SetCookie sets a cookie that scripts cannot read. maxAge is in seconds; a negative one removes the cookie.
func (s Site) SetCookie(w http.ResponseWriter, r *http.Request, name, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: s.Name(r, name), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: !s.IsPlain(r), SameSite: http.SameSiteLaxMode})
}

// Cookie returns the value of a cookie that was set by SetCookie, or "".
func (s Site) Cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.Name(r, name))
	if err != nil {
		return ""
	}
	return c.Value
}

// IsFromBrowser reports whether a request has a header in which browsers say where it comes from. Browsers from before
// 2020 may send neither.
func IsFromBrowser(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
}

// TextOf returns the text of a request's session, or "". Browsers also send cookies with requests that are made by other
// sites, or by other origins of the same site. TextOf ignores those cookies unless the user follows a link.
func (s Site) TextOf(r *http.Request) string {
	text := s.Cookie(r, cookieName)
	if text == "" || !s.IsOwn(r) && !isLink(r) {
		return ""
	}
	return text
}

// SetText sets the cookie of a session.
func (s Site) SetText(w http.ResponseWriter, r *http.Request, text string, maxAge int) {
	s.SetCookie(w, r, cookieName, text, maxAge)
}

// IsOwn reports whether a request comes from a page of the server, from the address bar, or from a program that
// is not a browser. It is stricter than http.CrossOriginProtection, because it also applies to reading.
func (s Site) IsOwn(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
	default:
		return false
	}
	origin := r.Header.Get("Origin") // from an old browser, a browser without TLS, or a program
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && (strings.EqualFold(u.Host, r.Host) || s.PublicURL != "" && strings.EqualFold(origin, originOf(s.PublicURL)))
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// isLink reports whether a browser is navigating to a page, for example by a link.
func isLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// hostOf returns the host name of a request, without the port.
func hostOf(r *http.Request) string {
	return (&url.URL{Host: r.Host}).Hostname()
}

// isLocal reports whether a host name or address is one of this machine (RFC 6761 section 6.3).
func isLocal(name string) bool {
	name = strings.ToLower(name)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
