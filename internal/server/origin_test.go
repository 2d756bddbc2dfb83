package server

import (
	"net"
	"strings"
	"testing"
)

func TestOrigins_TellAddressesApartWithoutNamingThem(t *testing.T) {
	o, afterRestart := newOrigins(), newOrigins()
	a, b := &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 1}, &net.TCPAddr{IP: net.ParseIP("192.0.2.2"), Port: 1}
	again := &net.TCPAddr{IP: a.IP, Port: 2}
	if o.of(a) == "" || o.of(a) == o.of(b) || o.of(a) != o.of(again) {
		t.Errorf("the origins of two addresses are %q and %q, of another port %q", o.of(a), o.of(b), o.of(again))
	}
	if strings.Contains(o.of(a), "192") || o.of(a) == afterRestart.of(a) {
		t.Errorf("%q says which address it is of", o.of(a))
	}
	if local := o.of(&net.TCPAddr{IP: net.IPv6loopback}); local != "" {
		t.Errorf("this machine is %q", local)
	}
}
