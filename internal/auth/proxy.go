package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/auth/apikey"
)

// Proxy is a front end that signs people in and says in headers who they are. It is trusted if it sends Secret as its
// key and its connection comes from one of the addresses in From. X-Forwarded-For is ignored.
type Proxy struct {
	Name           string // in the subject of requests that name no user
	From           []netip.Prefix
	Secret         string
	User           string   // header that names the user
	Email          string   // header with a name for people to read; "" for none
	Groups         []string // headers that list groups or roles, separated by commas
	Prefix         string   // put before subjects and groups
	Editors        []string // groups, as the headers name them, whose members are editors
	Administrators []string // groups whose members are administrators; everybody else is a reader
}

const leastSecret = 24 // characters

// Check returns an error if the settings of the proxy are incomplete or unsafe.
func (p Proxy) Check() error {
	switch {
	case len(p.From) == 0:
		return errors.New("from is empty: name the addresses from which it connects")
	case p.User == "":
		return errors.New("user is empty: name the header that names the user")
	case len(p.Secret) < leastSecret:
		return fmt.Errorf("its secret has fewer than %d characters", leastSecret)
	case strings.HasPrefix(p.Secret, apikey.Prefix):
		return fmt.Errorf("its secret must not begin like a key, with %s", apikey.Prefix)
	case isReserved(p.Prefix):
		return fmt.Errorf("the prefix %q is already used for keys or proxies", p.Prefix)
	}
	return nil
}

// proxyOf returns the proxy whose secret equals the credential, or nil. It compares in constant time.
func (g *Gate) proxyOf(credential string) *Proxy {
	sum := sha256.Sum256([]byte(credential))
	var found *Proxy
	for i := range g.cfg.Proxies {
		want := sha256.Sum256([]byte(g.cfg.Proxies[i].Secret))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			found = &g.cfg.Proxies[i]
		}
	}
	return found
}

// byProxy returns the user whom a proxy names, or the proxy itself if it names none.
func (p *Proxy) byProxy(r *http.Request) (caller, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(p.From, func(n netip.Prefix) bool { return n.Contains(peer.Addr().Unmap().WithZone("")) }) {
		return caller{}, unauthorized("This key is not valid.", fmt.Errorf("the secret of %s%s came from %s, which auth.proxies does not list", access.ProxyPrefix, p.Name, r.RemoteAddr))
	}
	user, err := one(r.Header, p.User)
	if err != nil {
		return caller{}, err
	}
	if user == "" { // the proxy's own request, for example for the list of models
		return caller{access.Principal{Subject: access.ProxyPrefix + p.Name, Name: p.Name, Role: access.Reader}, nil}, nil
	}
	who := access.Principal{Subject: p.Prefix + user, Role: access.Reader}
	if isReserved(who.Subject) || len(user) > maxSubject || strings.ContainsFunc(user, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
		return caller{}, unauthorized("The header "+p.User+" does not contain a valid user name.", nil)
	}
	if p.Email != "" {
		if who.Name, err = one(r.Header, p.Email); err != nil {
			return caller{}, err
		}
	}
	for _, header := range p.Groups {
		list, err := single(r.Header, header)
		if err != nil {
			return caller{}, err
		}
		for encoded := range strings.SplitSeq(list, ",") {
			group, err := decoded(header, encoded)
			if err != nil {
				return caller{}, err
			}
			if group == "" {
				continue
			}
			switch {
			case slices.Contains(p.Administrators, group):
				who.Role = access.Administrator
			case slices.Contains(p.Editors, group) && who.Role == access.Reader:
				who.Role = access.Editor
			}
			who.Groups = append(who.Groups, p.Prefix+group)
		}
	}
	return caller{who, nil}, nil
}

// Maximum lengths in bytes: of a user's name, and of the value of a header.
const (
	maxSubject = 256
	maxNamed   = 4 << 10
)

// one returns the decoded value of a header that may occur only once, or "".
func one(h http.Header, name string) (string, error) {
	value, err := single(h, name)
	if err != nil {
		return "", err
	}
	return decoded(name, value)
}

// single returns the value, as it was sent, of a header that may occur only once.
func single(h http.Header, name string) (string, error) {
	all := h.Values(name)
	if len(all) > 1 || len(all) == 1 && len(all[0]) > maxNamed {
		return "", badHeader(name)
	}
	return h.Get(name), nil
}

// decoded removes the percent encoding in which proxies write non-ASCII text. Lists must be split first, because an encoded
// comma is part of a name.
func decoded(header, value string) (string, error) {
	if text, err := url.PathUnescape(value); err == nil {
		value = text
	}
	if value = strings.TrimSpace(value); !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return "", badHeader(header)
	}
	return value, nil
}

func badHeader(name string) error {
	return unauthorized(fmt.Sprintf("The header %s must be sent only once, as one line of UTF-8 text of at most %d bytes.", name, maxNamed), nil)
}

// isReserved reports whether a subject or prefix begins with a prefix that only Parley assigns.
func isReserved(name string) bool {
	return slices.ContainsFunc(access.Reserved, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
