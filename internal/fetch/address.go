package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"code.dny.dev/ssrf"
)

// connect dials a public address of a host. It resolves the name once and dials the address that it
// checked, so that a later change of the name's address has no effect.
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

// guard knows IANA's registries of special networks. It also refuses the prefixes of NAT64.
var guard = ssrf.New(ssrf.WithAnyPort())

// IsPublic reports whether an address belongs to the public internet.
func IsPublic(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && guard.SafeAddr(a.Unmap()) == nil
}
