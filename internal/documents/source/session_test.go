package source

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// listen serves connections until the end of the test, and returns the address and a counter of connections.
func listen(t *testing.T, serve func(net.Conn)) (address string, dialled *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dialled = new(atomic.Int32)
	var running sync.WaitGroup
	var open sync.Map
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			dialled.Add(1)
			open.Store(conn, true)
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
		running.Wait()
	})
	return l.Addr().String(), dialled
}

// sftpServer returns the address of an SSH server with pkg/sftp's server, a file with its key, and a folder that it serves.
func sftpServer(t *testing.T) (address, known, dir string, dialled *atomic.Int32) {
	t.Helper()
	dir = t.TempDir()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &gossh.ServerConfig{PasswordCallback: func(c gossh.ConnMetadata, password []byte) (*gossh.Permissions, error) {
		if c.User() != "anna" || string(password) != "pw" {
			return nil, errors.New("no")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	address, dialled = listen(t, func(conn net.Conn) {
		_, channels, requests, err := gossh.NewServerConn(conn, config)
		if err != nil {
			return
		}
		go gossh.DiscardRequests(requests)
		for c := range channels {
			channel, requests, err := c.Accept()
			if err != nil {
				return
			}
			go func() {
				for r := range requests {
					r.Reply(r.Type == "subsystem" && bytes.HasSuffix(r.Payload, []byte("sftp")), nil)
				}
			}()
			server, err := sftp.NewServer(channel, sftp.ReadOnly(), sftp.WithServerWorkingDirectory(dir))
			if err != nil {
				return
			}
			server.Serve()
			server.Close()
		}
	})
	known = filepath.Join(t.TempDir(), "known_hosts")
	write(t, known, knownhosts.Line([]string{knownhosts.Normalize(address)}, signer.PublicKey())+"\n")
	return address, known, dir, dialled
}

func TestSFTP_ListsAndReadsAFolder(t *testing.T) {
	address, known, dir, dialled := sftpServer(t)
	large := strings.Repeat("a long file\n", 300_000)
	write(t, filepath.Join(dir, "here/a.md"), "alpha")
	write(t, filepath.Join(dir, "here/deep/b c+ü%#.md"), "beta")
	write(t, filepath.Join(dir, "here/large.txt"), large)
	write(t, filepath.Join(dir, "elsewhere.md"), "no")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "here/link.md")); err != nil {
		t.Fatal(err)
	}
	o := Options{Account: Account{User: "anna", Secret: "pw", KnownHosts: known}, MaxBytes: 8 << 20}
	s := open(t, "sftp://"+address+filepath.ToSlash(dir)+"/here", o)
	first := mustList(t, s)
	if diff := cmp.Diff([]string{"a.md", "deep/b c+ü%#.md", "large.txt"}, paths(first)); diff != "" {
		t.Error(diff)
	}
	if read(t, s, "deep/b c+ü%#.md") != "beta" || read(t, s, "large.txt") != large {
		t.Error("the contents are wrong")
	}
	write(t, filepath.Join(dir, "here/a.md"), "alpha is longer now")
	if second := mustList(t, s); first["a.md"] == second["a.md"] || first["large.txt"] != second["large.txt"] {
		t.Errorf("versions before and after a change: %v, %v", first, second)
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("%d connections were made for requests one after another", n)
	}
	if _, err := s.Open(t.Context(), Object{key: filepath.ToSlash(dir) + "/here/gone.md"}); !errors.Is(err, ErrRefused) {
		t.Errorf("a file that is gone: %v", err)
	}
	home := open(t, "sftp://anna@"+address, Options{Account: Account{Secret: "pw", KnownHosts: known}})
	if _, ok := mustList(t, home)["elsewhere.md"]; !ok {
		t.Error("without a folder, the account's own is not listed")
	}
}

func TestSFTP_TellsNoSecretToAnUnknownServer(t *testing.T) {
	address, known, dir, dialled := sftpServer(t)
	_, other, _, _ := sftpServer(t)
	data, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(string(data), " ")
	write(t, other, knownhosts.Normalize(address)+" "+key) // another server's key under this one's name
	for name, account := range map[string]Account{
		"another key":    {User: "anna", Secret: "hunter2", KnownHosts: other},
		"wrong password": {User: "anna", Secret: "hunter2", KnownHosts: known},
	} {
		before := dialled.Load()
		_, err := list(t, open(t, "sftp://"+address+filepath.ToSlash(dir), Options{Account: account, Rights: true}))
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "source_rights") || dialled.Load() != before+1 {
			t.Errorf("%s: %v after %d connections", name, err, dialled.Load()-before)
		}
	}
	a, err := Parse("sftp://" + address + "/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Open(t.Context(), Options{Account: Account{Secret: "pw", KnownHosts: known}}); err == nil {
		t.Error("it is opened without a user")
	}
}

// A connection that is lost between two requests, as idle ones are, is made anew.
func TestSFTP_ConnectsAgain(t *testing.T) {
	address, known, dir, dialled := sftpServer(t)
	write(t, filepath.Join(dir, "a.md"), "alpha")
	s := open(t, "sftp://"+address+filepath.ToSlash(dir), Options{Account: Account{User: "anna", Secret: "pw", KnownHosts: known}})
	folder := s.(limited).of.(*sftpFolder)
	folder.pause = time.Millisecond
	mustList(t, s)
	folder.idle[0].line.Close()
	if got := read(t, s, "a.md"); got != "alpha" || dialled.Load() != 2 {
		t.Errorf("read %q after %d connections", got, dialled.Load())
	}
}

// imapServer returns the address of go-imap's server with mail of anna, and how it is trusted. Each mailbox of "/" has the
// given messages.
func imapServer(t *testing.T, implicit bool, boxes map[string][]string) (address string, user *imapmemserver.User, trust *tls.Config) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	trust = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
	trust.RootCAs.AddCert(certified.Certificate())
	own := &tls.Config{Certificates: certified.TLS.Certificates}
	user = imapmemserver.NewUser("anna", "pw")
	for name, messages := range boxes {
		if err := user.Create(name, nil); err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			appendMail(t, user, name, m)
		}
	}
	backend := imapmemserver.New()
	backend.AddUser(user)
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return backend.NewSession(), nil, nil
		},
		TLSConfig: own, Logger: log.New(io.Discard, "", 0),
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	if implicit {
		l = tls.NewListener(l, own)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return address, user, trust
}

func appendMail(t *testing.T, user *imapmemserver.User, box, text string) {
	t.Helper()
	message := "From: anna@example.com\r\nSubject: x\r\n\r\n" + text
	if _, err := user.Append(box, literal{strings.NewReader(message)}, &imap.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

type literal struct{ *strings.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

// openMail opens an account of a server that the test trusts.
func openMail(t *testing.T, address string, trust *tls.Config, secret string) *mailAccount {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	m := newMailAccount(at, Options{Account: Account{User: "anna", Secret: secret}, MaxBytes: 8 << 20}, trust)
	m.pause = time.Millisecond
	t.Cleanup(func() { m.Close() })
	return m
}

func TestIMAP_ListsAndReadsMailboxes(t *testing.T) {
	for scheme, implicit := range map[string]bool{"imaps": true, "imap": false} {
		t.Run(scheme, func(t *testing.T) {
			large := strings.Repeat("a long message\r\n", 200_000)
			address, user, trust := imapServer(t, implicit, map[string][]string{
				"INBOX": {"one", "two"}, "Projects": nil, "Projects/ü q": {"three", large}, "Other": {"four"},
			})
			m := openMail(t, scheme+"://"+address, trust, "pw")
			first := mustList(t, m)
			if diff := cmp.Diff([]string{"INBOX/1.eml", "INBOX/2.eml", "Other/1.eml", "Projects/ü q/1.eml", "Projects/ü q/2.eml"}, paths(first)); diff != "" {
				t.Error(diff)
			}
			if got := read(t, m, "Projects/ü q/2.eml"); !strings.HasSuffix(got, "\r\n\r\n"+large) {
				t.Errorf("read %d bytes", len(got))
			}
			if got := read(t, m, "INBOX/2.eml"); !strings.HasSuffix(got, "two") {
				t.Errorf("read %q", got)
			}
			appendMail(t, user, "INBOX", "five")
			second := mustList(t, openMail(t, scheme+"://"+address+"/inbox", trust, "pw"))
			if diff := cmp.Diff([]string{"INBOX/1.eml", "INBOX/2.eml", "INBOX/3.eml"}, paths(second)); diff != "" {
				t.Error(diff)
			}
			if second["INBOX/1.eml"] != first["INBOX/1.eml"] {
				t.Error("a message that is the same has another version")
			}
			if got := paths(mustList(t, openMail(t, scheme+"://"+address+"/Projects", trust, "pw"))); len(got) != 2 {
				t.Errorf("of a mailbox with others below it: %v", got)
			}
		})
	}
}

// Reading mail marks nothing as read, and passes over what its owner has deleted.
func TestIMAP_ChangesNothing(t *testing.T) {
	address, user, trust := imapServer(t, true, map[string][]string{"INBOX": {"one"}})
	if _, err := user.Append("INBOX", literal{strings.NewReader("Subject: y\r\n\r\ngone")}, &imap.AppendOptions{Flags: []imap.Flag{imap.FlagDeleted}}); err != nil {
		t.Fatal(err)
	}
	m := openMail(t, "imaps://"+address, trust, "pw")
	if got := paths(mustList(t, m)); !cmp.Equal(got, []string{"INBOX/1.eml"}) {
		t.Errorf("listed %v", got)
	}
	read(t, m, "INBOX/1.eml")
	status, err := user.Status("INBOX", &imap.StatusOptions{NumMessages: true, NumUnseen: true})
	if err != nil || *status.NumMessages != 2 || *status.NumUnseen != 2 {
		t.Errorf("after reading: %v, %v", status, err)
	}
}

func TestIMAP_SaysWhatIsWrong(t *testing.T) {
	address, user, trust := imapServer(t, true, map[string][]string{"INBOX": {"one"}, "Temp": {"two"}})
	for name, m := range map[string]*mailAccount{
		"wrong password":  openMail(t, "imaps://"+address, trust, "hunter2"),
		"no such mailbox": openMail(t, "imaps://"+address+"/Nowhere", trust, "pw"),
		"not trusted":     openMail(t, "imaps://"+address, &tls.Config{ServerName: "example.com"}, "hunter2"),
	} {
		if _, err := list(t, m); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := openMail(t, "imaps://"+address, trust, "pw")
	var objects []Object
	for o, err := range m.Objects(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	read(t, m, "INBOX/1.eml")
	if err := user.Delete("Temp"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), objects[1]); !errors.Is(err, ErrRefused) {
		t.Errorf("a message of a mailbox that is gone: %v", err)
	}
	gone := objects[0]
	gone.key = strings.Replace(gone.key, " 1 ", " 99 ", 1)
	if _, err := m.Open(t.Context(), gone); !errors.Is(err, ErrRefused) {
		t.Errorf("a message that is gone: %v", err)
	}
	gone.key = "7 1 INBOX" // from before the mailbox was made anew
	if _, err := m.Open(t.Context(), gone); !errors.Is(err, ErrRefused) {
		t.Errorf("a message of an earlier mailbox: %v", err)
	}
	if got := read(t, m, "INBOX/1.eml"); !strings.HasSuffix(got, "one") {
		t.Errorf("after refusals, read %q", got)
	}
}

// A server that sends without end, or nothing, does not hold a run or take its memory.
func TestSessions_EndWhatHasNoEnd(t *testing.T) {
	endless, _ := listen(t, func(conn net.Conn) {
		for {
			if _, err := conn.Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
				return
			}
		}
	})
	l, err := dialLine(t.Context(), "127.0.0.1", endless[strings.LastIndexByte(endless, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	asked := l.begin(t.Context(), time.Minute, 1<<20)
	n, err := io.Copy(io.Discard, l)
	if err = asked.end(err); !errors.Is(err, errTooMuch) || n > 2<<20 {
		t.Errorf("after %d bytes: %v", n, err)
	}

	silent, _ := listen(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	if l, err = dialLine(t.Context(), "127.0.0.1", silent[strings.LastIndexByte(silent, ':')+1:]); err != nil {
		t.Fatal(err)
	}
	asked = l.begin(t.Context(), 20*time.Millisecond, 1<<20)
	_, err = l.Read(make([]byte, 1))
	if err = asked.end(err); !errors.Is(err, errSlow) {
		t.Errorf("of a server that says nothing: %v", err)
	}
}

// Servers that are none of what they should be give an error, whatever they say.
func TestSessions_RefuseOtherServers(t *testing.T) {
	_, known, _, _ := sftpServer(t)
	for name, hello := range map[string]string{"silence": "", "HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n", "noise": strings.Repeat("\x00\xff{9999999999}\r\n* ", 1000)} {
		address, _ := listen(t, func(conn net.Conn) { fmt.Fprint(conn, hello) })
		for scheme, o := range map[string]Options{
			"sftp": {Account: Account{User: "anna", Secret: "pw", KnownHosts: known}}, "imaps": {Account: Account{User: "anna", Secret: "pw"}}, "imap": {Account: Account{User: "anna", Secret: "pw"}},
		} {
			s := open(t, scheme+"://"+address, o)
			switch s := s.(limited).of.(type) {
			case *sftpFolder:
				s.pause = time.Millisecond
			case *mailAccount:
				s.pause = time.Millisecond
			}
			if _, err := list(t, s); err == nil {
				t.Errorf("%s of a server with %s: no error", scheme, name)
			}
		}
	}
}
