package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

// attempt is what a worker of the tests tries when a document asks it to: "attempt WHAT ARGUMENT". It
// says "done" or what the system said.
func attempt(what, argument string) string {
	var err error
	switch what {
	case "read":
		_, err = os.ReadFile(argument)
	case "list":
		_, err = os.ReadDir(argument)
	case "write":
		err = os.WriteFile(argument, []byte("written"), 0o600)
	case "link":
		err = os.Symlink("/etc/passwd", argument)
	case "remove":
		err = os.Remove(argument)
	case "truncate":
		err = os.Truncate(argument, 0)
	case "connect", "send":
		network := map[string]string{"connect": "tcp", "send": "udp"}[what]
		var conn net.Conn
		if conn, err = net.Dial(network, argument); err == nil {
			_, err = conn.Write([]byte("sent"))
			conn.Close()
		}
	case "listen":
		config := net.ListenConfig{}
		config.SetMultipathTCP(false) // Landlock does not know it before version 10; a network of its own does
		var ln net.Listener
		if ln, err = config.Listen(context.Background(), "tcp", argument); err == nil {
			ln.Close()
		}
	case "signal":
		var pid int
		if _, err = fmt.Sscan(argument, &pid); err == nil {
			err = syscall.Kill(pid, 0)
		}
	case "start":
		_, err = os.StartProcess(argument, []string{argument}, &os.ProcAttr{})
	}
	if err != nil {
		return err.Error()
	}
	return "done"
}

func init() { attempts = attempt } //nolint:gochecknoinits // testPost is for all systems

// tryIn has a worker of a pool attempt something.
func tryIn(t *testing.T, pool *Pool, spool, what, argument string) string {
	t.Helper()
	r, err := pool.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "attempt "+what+" "+argument), Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Post)
}

func needsLandlock(t *testing.T, least int) {
	t.Helper()
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < least {
		needs.Missing(t, fmt.Sprintf("Landlock %d of the kernel (it has %d)", least, max(version, 0)))
	}
}

// A worker that a file has taken over reads and writes nothing but what its job needs.
func TestPool_WorkersReachNoOtherFiles(t *testing.T) {
	needsLandlock(t, 3)
	outside := t.TempDir()
	other := filepath.Join(outside, "other.txt")
	if err := os.WriteFile(other, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	spool := filepath.Join(t.TempDir(), "spools", "1")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	pool := newTestPool(t, Options{Workers: 1})
	for _, c := range [][2]string{
		{"read", "/etc/passwd"}, {"read", other}, {"list", "/"}, {"list", outside}, {"read", fmt.Sprintf("/proc/%d/environ", os.Getpid())},
		{"write", filepath.Join(outside, "new.txt")}, {"write", other}, {"truncate", other}, {"remove", other}, {"link", filepath.Join(outside, "link")},
		{"write", filepath.Join(extracttest.ParserCache, "poison")}, {"write", filepath.Join(os.TempDir(), "new.txt")}, {"start", "/bin/true"},
	} {
		if got := tryIn(t, pool, spool, c[0], c[1]); !strings.Contains(got, "permission denied") {
			t.Errorf("%s %s: %s", c[0], c[1], got)
		}
	}
	if got := tryIn(t, pool, spool, "write", filepath.Join(spool, "part")); got != "done" {
		t.Errorf("its spool cannot be written to: %s", got)
	}
	if data, err := os.ReadFile(other); string(data) != "secret" {
		t.Errorf("the other file holds %q (%v)", data, err)
	}
	// A job that writes elsewhere gets another worker.
	elsewhere := filepath.Join(t.TempDir(), "spools", "1")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := tryIn(t, pool, elsewhere, "write", filepath.Join(elsewhere, "part")); got != "done" {
		t.Errorf("its spool cannot be written to: %s", got)
	}
}

// A worker reaches no address, and no process but itself.
func TestPool_WorkersReachNoNetwork(t *testing.T) {
	needsLandlock(t, 4)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	pool := newTestPool(t, Options{Workers: 1})
	for _, c := range [][2]string{{"connect", ln.Addr().String()}, {"listen", "127.0.0.1:0"}} {
		if got := tryIn(t, pool, "", c[0], c[1]); got == "done" {
			t.Errorf("%s %s: %s", c[0], c[1], got)
		}
	}
	if isolated() {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer packets.Close()
		if got := tryIn(t, pool, "", "send", packets.LocalAddr().String()); got == "done" {
			t.Errorf("send: %s", got)
		}
	} else {
		t.Log("the system gives workers no network of their own: UDP is not tried")
	}
	if version, _ := ll.LandlockGetABIVersion(); version >= 6 {
		if got := tryIn(t, pool, "", "signal", fmt.Sprint(os.Getpid())); !strings.Contains(got, "not permitted") {
			t.Errorf("signal: %s", got)
		}
	}
}

// A worker that is shut in still reads every format, PDF also when its parser is loaded afterwards,
// and takes files out of archives.
func TestPool_WorkersThatAreShutInReadOn(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	if got := tryIn(t, pool, "", "list", "."); got == "done" {
		if _, ok := Confinement(); ok {
			t.Error("it is not shut in")
		}
	}
	spool := filepath.Join(t.TempDir(), "1")
	for name, data := range map[string][]byte{"a.pdf": extracttest.MakePDF(extracttest.SetLines(72, 700, "Some text.")), "a.zip": extracttest.MakeZIP(t, "b.txt", "Some text.")} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			os.RemoveAll(spool)
			r, err := pool.Extract(context.Background(), extract.Request{Name: name, Path: path, Spool: spool})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if name == "a.zip" {
				if part, err := os.ReadFile(filepath.Join(spool, extract.PartName(0))); !bytes.Equal(part, []byte("Some text.")) {
					t.Errorf("the part holds %q (%v)", part, err)
				}
			} else if got := extracttest.Outline(r.Document); got != "page 1\nP Some text.\n" {
				t.Errorf("%s is read as %q", name, got)
			}
		}
	}
}
