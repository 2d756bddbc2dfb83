package server

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// trust determines which web pages may call the server, and for which hosts the server responds. Browsers
// keep other pages from reading responses. The server itself must refuse their changes, since a page can send
// a POST without reading the response. The check of hosts prevents DNS rebinding: a page whose own name
// resolves to 127.0.0.1 has the right origin, but cannot hide the name from the header Host.
type trust struct {
	origins    map[string]bool // configured, in the spelling of browsers
	everyone   bool            // "*"
	loopback   bool            // the default: origins on this machine, any port
	publicHost string          // host of Config.PublicURL without the port, lower case; "" if unset
	sameOrigin *http.CrossOriginProtection
}

func newTrust(origins []string, publicURL string) trust {
	t := trust{
		origins: map[string]bool{}, loopback: len(origins) == 0,
		sameOrigin: http.NewCrossOriginProtection(),
	}
	for _, o := range origins {
		t.everyone = t.everyone || o == "*"
		t.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		t.publicHost = strings.ToLower(u.Hostname())
		t.origins[strings.ToLower(u.Scheme+"://"+withoutDefaultPort(u))] = true
	}
	return t
}

// withoutDefaultPort returns the host in the spelling of the header Origin (RFC 6454 section 6.1).
func withoutDefaultPort(u *url.URL) string {
	port := u.Port()
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Host
}

// origin reports whether pages of an origin may call the server.
func (t *trust) origin(origin string) bool {
	if t.everyone || t.origins[strings.ToLower(origin)] {
		return true
	}
	if !t.loopback {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return isLoopbackName(u.Hostname())
}

// host reports whether to respond to a request for a host. If the server listens on loopback only, names
// other than those of this machine and of the public URL are a sign of DNS rebinding. On other addresses
// the server cannot know its names. A request without Host (HTTP/1.0) does not come from a browser.
func (t *trust) host(host string, loopback bool) bool {
	if !loopback || host == "" {
		return true
	}
	name := hostname(host)
	return isLoopbackName(name) || t.publicHost != "" && strings.EqualFold(name, t.publicHost)
}

// hostname strips the port and the brackets of an IPv6 address.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isLoopbackName reports whether a name is localhost or below it (RFC 6761 section 6.3), or a loopback
// address.
func isLoopbackName(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// frameAncestors returns the trusted origins as a CSP source list (CSP3 section 6.4.2), which has no
// notation for IPv6 addresses.
func (t *trust) frameAncestors() string {
	if t.everyone {
		return "*"
	}
	sources := []string{"'self'"}
	if t.loopback {
		for _, name := range []string{"localhost", "127.0.0.1"} {
			sources = append(sources, "http://"+name+":*", "https://"+name+":*")
		}
	}
	for _, origin := range slices.Sorted(maps.Keys(t.origins)) {
		if !strings.ContainsAny(origin, " ;,'\"[*") {
			sources = append(sources, origin)
		}
	}
	return strings.Join(sources, " ")
}
