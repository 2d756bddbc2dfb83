package session

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// The cookie of a session. On this machine browsers reach the server without TLS, so there, and only there, the
// cookie is neither Secure nor bound to the host by its name (RFC 6265bis section 4.1.3).
const cookieName = "parley-session"

// Site knows under which address browsers reach the server.
type Site struct {
	PublicURL string // "" if it is not configured
}

// IsPlain reports whether a request came without TLS to a name of this machine, where cookies need none.
func (s Site) IsPlain(r *http.Request) bool {
	if s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		return err == nil && u.Scheme == "http" && isLocal(u.Hostname()) && isLocal(hostOf(r))
	}
	return r.TLS == nil && isLocal(hostOf(r)) && r.Header.Get("X-Forwarded-Proto") == "" && r.Header.Get("X-Forwarded-For") == ""
}

// IsSafe reports whether cookies that sign somebody in may be set in the answer: their address is https, as far as
// can be told, or this machine.
func (s Site) IsSafe(r *http.Request) bool {
	if s.IsPlain(r) {
		return true
	}
	if s.PublicURL != "" {
		return strings.HasPrefix(s.PublicURL, "https:")
	}
	// A proxy that ends TLS and says so, or the browser, which knows. A lie leads to a cookie that browsers do not send.
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https:")
}

// Base returns the address of the server for the browser that sends a request, without a slash at the end.
func (s Site) Base(r *http.Request) string {
	if s.PublicURL != "" {
		return strings.TrimRight(s.PublicURL, "/")
	}
	if s.IsPlain(r) {
		return "http://" + r.Host
	}
	return "https://" + r.Host
}

// Name returns the name of a cookie for the site: with the prefix __Host- wherever it is Secure.
func (s Site) Name(r *http.Request, name string) string {
	if s.IsPlain(r) {
		return name
	}
	return "__Host-" + name
}

// SetCookie sets a cookie that no script can read; maxAge, in seconds, is negative to remove it.
func (s Site) SetCookie(w http.ResponseWriter, r *http.Request, name, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: s.Name(r, name), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: !s.IsPlain(r), SameSite: http.SameSiteLaxMode})
}

// Cookie returns the value of a cookie that SetCookie has set, or "".
func (s Site) Cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.Name(r, name))
	if err != nil {
		return ""
	}
	return c.Value
}

// IsFromBrowser reports whether a browser says where a request comes from. Browsers before 2020 may say nothing.
func IsFromBrowser(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
}

// TextOf returns the text of the session for which a request speaks, or "". Cookies come with requests that other
// sites make a browser send, and other origins of the same site: there they count for nothing but following a link.
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

// IsOwn reports whether a request comes from a page of the server, was typed by its user, or comes from a
// program that is not a browser. It is stricter than http.CrossOriginProtection: it holds for reading, too.
func (s Site) IsOwn(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
	default:
		return false
	}
	origin := r.Header.Get("Origin") // an old browser, or one that reaches the server without TLS, or a program
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

// isLink reports whether a browser follows a link to a page.
func isLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// hostOf returns the name for which a request asks, without its port.
func hostOf(r *http.Request) string {
	return (&url.URL{Host: r.Host}).Hostname()
}

// isLocal reports whether a name is one of this machine (RFC 6761 section 6.3).
func isLocal(name string) bool {
	name = strings.ToLower(name)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
