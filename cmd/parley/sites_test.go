package main

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptWebsite serves a folder on loopback.
func scriptWebsite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: website NAME FOLDER")
	}
	s := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[1]))))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

func TestAllowedPrivate_SortsHostsAndNetworks(t *testing.T) {
	t.Parallel()
	networks, hosts, err := allowedPrivate([]string{"wiki.corp.example", "10.1.2.3/16", "[::1]", "127.0.0.1", "nas."})
	var got []string
	for _, n := range networks {
		got = append(got, n.String())
	}
	if diff := cmp.Diff([]string{"10.1.0.0/16", "::1/128", "127.0.0.1/32"}, got); diff != "" || err != nil || !slices.Equal(hosts, []string{"wiki.corp.example", "nas"}) {
		t.Errorf("hosts %q, %v (-want +got):\n%s", hosts, err, diff)
	}
	for _, bad := range []string{"", "http://wiki", "wiki:8080", "10.1.2.3/99", "me@wiki", "*", "*.corp.example"} {
		cfg := DefaultConfig()
		cfg.CrawlAllowPrivate = []string{bad}
		if err := cfg.validate(); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if networks[0].Contains(netip.MustParseAddr("10.2.0.1")) {
		t.Error("a network holds an address of another one")
	}
}
