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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/test/needs"
)

// shared is a server that the tests of this process share.
type shared struct {
	once  sync.Once
	spare chan string // names of empty databases
	*cluster
	err error
}

// server and withVectors are the servers of this process.
var server, withVectors shared

// Main runs the tests and then stops the server. It returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		for _, s := range []*shared{&server, &withVectors} {
			if s.cluster != nil {
				s.remove()
			}
		}
	}()
	return m.Run()
}

// New returns the URL of an empty database, which belongs to the test until it ends. A test without
// PostgreSQL on its machine is skipped, or fails with PARLEY_TEST_ALL=1.
func New(t testing.TB) string {
	t.Helper()
	return server.database(t, needed(t))
}

// NewWithVectors is New on a server that has pgvector: the one whose programs are in the folder that the
// environment variable PARLEY_TEST_PGVECTOR names, else that of New. Without it the test is skipped.
func NewWithVectors(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("PARLEY_TEST_PGVECTOR"); bin != "" {
		return withVectors.database(t, bin)
	}
	url := New(t)
	if err := runOne(t.Context(), url, "SELECT 1 / COUNT(*) FROM pg_available_extensions WHERE name = 'vector'"); err != nil {
		t.Skip("needs pgvector: .ci/run says how to get it")
	}
	return url
}

// database returns the URL of an empty database, which belongs to the test until it ends.
func (s *shared) database(t testing.TB, bin string) string {
	t.Helper()
	s.once.Do(func() {
		s.spare = make(chan string, 16)
		if s.cluster, s.err = newCluster(bin); s.err == nil {
			s.err = s.create()
		}
	})
	if s.err != nil {
		t.Fatalf("start PostgreSQL: %v", s.err)
	}
	name := ""
	select {
	case name = <-s.spare:
	default:
		name = "test_" + strings.ToLower(rand.Text())
		Exec(t, s.address("postgres"), "CREATE DATABASE "+name)
	}
	t.Cleanup(func() {
		// Creating a database takes longer than emptying one.
		Exec(t, s.address(name), "DROP SCHEMA IF EXISTS parley_corpus, parley_state, parley_vectors CASCADE")
		select {
		case s.spare <- name:
		default:
		}
	})
	return s.address(name)
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

// Hold runs a statement in a transaction that stays open until its connection is cut, or the test ends.
func Hold(t testing.TB, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		_, err = conn.Exec(t.Context(), "BEGIN; "+statement)
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// NewRole returns the name of a user of the database at url who is not a superuser, and the URL with which this user
// connects. The user and all that it owns are removed when the test ends.
func NewRole(t testing.TB, url string) (name, urlOfRole string) {
	t.Helper()
	name = "role_" + strings.ToLower(rand.Text())
	database := strings.TrimPrefix(url[:strings.IndexByte(url, '?')], "postgres:///")
	Exec(t, url, "CREATE ROLE "+name+" LOGIN; GRANT CREATE ON DATABASE "+database+" TO "+name)
	t.Cleanup(func() { Exec(t, url, "DROP OWNED BY "+name+" CASCADE; DROP ROLE "+name) })
	return name, strings.Replace(url, "user=parley", "user="+name, 1)
}

// Cut ends all connections to the database at url.
func Cut(t testing.TB, url string) {
	t.Helper()
	Exec(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
}

func runOne(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// programs returns the folder with the programs of the newest PostgreSQL on this machine, or "".
// Debian does not put them on the path.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // the others are beside the file
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

// needed returns the folder with the programs, without which the test is skipped or fails.
func needed(t testing.TB) string {
	t.Helper()
	bin := programs()
	if bin == "" {
		needs.Missing(t, "PostgreSQL (Debian package postgresql)")
	}
	return bin
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
