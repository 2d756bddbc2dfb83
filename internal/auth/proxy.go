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

// Proxy is a front end that signs people in and says in headers who they are. It is believed if it sends the secret as
// its key, and if the connection comes from one of its addresses; X-Forwarded-For counts for nothing.
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

// Check returns why a proxy cannot be believed, or nil.
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

// proxyOf returns the proxy whose secret a credential is, or nil.
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

// byProxy returns the user whom a proxy asks for.
func (p *Proxy) byProxy(r *http.Request) (caller, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(p.From, func(n netip.Prefix) bool { return n.Contains(peer.Addr().Unmap().WithZone("")) }) {
		return caller{}, unauthorized("This key is not valid.", fmt.Errorf("the secret of %s%s came from %s, which auth.proxies does not list", access.ProxyPrefix, p.Name, r.RemoteAddr))
	}
	user, err := one(r.Header, p.User)
	if err != nil {
		return caller{}, err
	}
	if user == "" { // it asks for itself, for example which models there are
		return caller{access.Principal{Subject: access.ProxyPrefix + p.Name, Name: p.Name, Role: access.Reader}, nil}, nil
	}
	who := access.Principal{Subject: p.Prefix + user, Role: access.Reader}
	if isReserved(who.Subject) || len(user) > maxSubject || strings.ContainsFunc(user, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
		return caller{}, unauthorized("The header "+p.User+" names no user.", nil)
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

// Longest values of such headers, in bytes.
const (
	maxSubject = 256
	maxNamed   = 4 << 10
)

// one returns the decoded value of a header that may stand once, "" for none.
func one(h http.Header, name string) (string, error) {
	value, err := single(h, name)
	if err != nil {
		return "", err
	}
	return decoded(name, value)
}

// single returns the value of a header that may stand once, as it was sent.
func single(h http.Header, name string) (string, error) {
	all := h.Values(name)
	if len(all) > 1 || len(all) == 1 && len(all[0]) > maxNamed {
		return "", badHeader(name)
	}
	return h.Get(name), nil
}

// decoded returns a value without the percent encoding in which proxies write what is not ASCII. Lists are separated before: a
// comma that is encoded belongs to a name.
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
	return unauthorized("The header "+name+" must stand once, and be one line of text.", nil)
}

// isReserved reports whether a subject or prefix could be taken for one that Parley gives out itself.
func isReserved(name string) bool {
	return slices.ContainsFunc(access.Reserved, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
