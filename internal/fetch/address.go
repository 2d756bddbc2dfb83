package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// connect dials a public address of a host. The name is resolved here, once, and what was checked
// is what is dialled, so that a name which resolves differently the next time gains nothing.
func (c *Client) connect(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the address %q: %w", address, err)
	}
	addrs, err := c.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error
	for _, a := range addrs {
		if !c.mayDial(host, a) {
			continue
		}
		conn, err := c.dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	if last == nil {
		return nil, &Error{Kind: KindForbidden, Msg: "The URL leads to an address that is not public."}
	}
	return nil, last
}

func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := c.lookup(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolve %q: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, errors.New("the name has no address")
	}
	return addrs, nil
}

func (c *Client) mayDial(host string, a netip.Addr) bool {
	if IsPublic(a) {
		return true
	}
	host = strings.TrimSuffix(host, ".")
	if slices.ContainsFunc(c.opts.AllowHosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	for _, p := range c.opts.Allow {
		if p.Contains(a.Unmap()) && a.Zone() == "" {
			return true
		}
	}
	return false
}

// special4 are the IPv4 networks that are not public (IANA special-purpose registry, RFC 6890).
var special4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
	"192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
)

// global6 is the one IPv6 network out of which public addresses are given (RFC 4291, section 2.4,
// and IANA's registry of allocations); special6 are the parts of it that are not public or that
// hold an IPv4 address: Teredo and other protocol assignments, documentation, 6to4. The prefixes
// of NAT64 (RFC 6052, RFC 8215) lie outside of it.
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// IsPublic reports whether an address belongs to a host of the public internet.
func IsPublic(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	special := special4
	if a.Is6() {
		if !global6.Contains(a) {
			return false
		}
		special = special6
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
