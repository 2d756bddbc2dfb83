// Package pgtest gives tests a PostgreSQL server. A test process starts its own server when a test
// first asks for one, in a temporary folder and with a Unix socket only.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	db, err := store.Open(ctx, pgtest.New(t), nil)
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/test/needs"
)

// server is the server of this process.
var server struct {
	once  sync.Once
	spare chan string // names of empty databases
	dir   string
	admin string       // URL of the database postgres
	run   func() error // starts it
	halt  func()       // stops it
	stop  func()       // stops it and deletes the cluster
	err   error
}

// Main runs the tests and then stops the server. It returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		if server.stop != nil {
			server.stop()
		}
	}()
	return m.Run()
}

// New returns the URL of an empty database, which belongs to the test until it ends. A test without
// PostgreSQL on its machine is skipped, or fails with PARLEY_TEST_ALL=1.
func New(t testing.TB) string {
	t.Helper()
	bin := programs()
	if bin == "" {
		needs.Missing(t, "PostgreSQL (Debian package postgresql)")
	}
	server.once.Do(func() { server.err = start(bin) })
	if server.err != nil {
		t.Fatalf("start PostgreSQL: %v", server.err)
	}
	name := ""
	select {
	case name = <-server.spare:
	default:
		name = "test_" + strings.ToLower(rand.Text())
		Exec(t, server.admin, "CREATE DATABASE "+name)
	}
	t.Cleanup(func() {
		// Creating a database takes longer than emptying one.
		Exec(t, address(name), "DROP SCHEMA IF EXISTS parley_corpus, parley_state CASCADE")
		select {
		case server.spare <- name:
		default:
		}
	})
	return address(name)
}

// Exec runs a statement on the database at url.
func Exec(t testing.TB, url, statement string) {
	t.Helper()
	// The test's own context has ended when its cleanups run.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := runOne(ctx, url, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func runOne(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// address returns the URL of a database on the server.
func address(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {server.dir}, "user": {"parley"}}.Encode()
}

// programs returns the folder with the programs of the newest PostgreSQL on this machine, or "".
// Debian does not put them on the path.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

// start creates a cluster and starts its server.
func start(bin string) error {
	dir, err := os.MkdirTemp("", "pg") // t.TempDir can be too long for the path of a socket
	if err != nil {
		return err
	}
	server.dir, server.stop = dir, func() { os.RemoveAll(dir) }
	as, err := unprivileged(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	// A locale that does not sort by bytes shows where the schema forgets to ask for that.
	initdb := exec.CommandContext(context.Background(), filepath.Join(bin, "initdb"), "-D", data, "-U", "parley", "-A", "trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, as
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server.run = func() error { return run(bin, data, as) }
	server.admin, server.spare = address("postgres"), make(chan string, 16)
	return server.run()
}

// run starts the server of the cluster in a folder.
func run(bin, data string, as *syscall.SysProcAttr) error {
	// The shell stops the server when its input ends, which also happens when this process dies.
	shell := exec.CommandContext(context.Background(), "sh", append([]string{"-c", `"$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server`, "sh",
		filepath.Join(bin, "postgres"), "-D", data}, settings(server.dir)...)...)
	shell.Dir, shell.SysProcAttr = server.dir, as
	log, err := os.Create(filepath.Join(server.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own descriptor
	shell.Stdout, shell.Stderr = log, log
	input, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return err
	}
	server.halt = func() {
		input.Close()
		shell.Wait() //nolint:errcheck // the shell returns the server's exit code, which says nothing here
	}
	server.stop = func() {
		server.halt()
		os.RemoveAll(server.dir)
	}
	return ready(log.Name())
}

// Restart stops the server, which ends all connections, and starts it again after a time. Tests that run at
// the same time must not use it.
func Restart(t testing.TB, after time.Duration) {
	t.Helper()
	server.halt()
	time.Sleep(after)
	if err := server.run(); err != nil {
		t.Fatalf("start PostgreSQL again: %v", err)
	}
}

// settings are for speed: what a test writes need not survive a power failure.
func settings(dir string) []string {
	var all []string
	for _, s := range []string{"listen_addresses=", "unix_socket_directories=" + dir, "fsync=off", "synchronous_commit=off",
		"full_page_writes=off", "max_connections=200", "shared_buffers=32MB", "autovacuum=off"} {
		all = append(all, "-c", s)
	}
	return all
}

// ready waits until the server accepts connections.
func ready(logFile string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := runOne(ctx, server.admin, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s", err, tail(logFile))
		}
	}
}

// tail returns the end of a log.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	all, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	lines := strings.Split(strings.TrimSpace(string(all)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
