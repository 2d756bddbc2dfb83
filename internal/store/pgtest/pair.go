package pgtest

import (
	"net/url"
	"runtime"
	"testing"
)

// Pair is a server and its standby, which has everything that the server has acknowledged.
type Pair struct{ primary, standby *cluster }

// NewPair starts a server and a standby of its own for a test. Without PostgreSQL on its machine, the test is skipped
// or fails as with New.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, to kill a server with all its processes")
	}
	p := &Pair{}
	t.Cleanup(func() {
		for _, c := range []*cluster{p.primary, p.standby} {
			if c != nil {
				c.remove()
			}
		}
	})
	if err := p.start(needed(t)); err != nil {
		t.Fatalf("start PostgreSQL and a standby: %v", err)
	}
	return p
}

func (p *Pair) start(bin string) (err error) {
	if p.primary, err = newCluster(bin, "synchronous_commit=on"); err != nil {
		return err
	}
	if p.standby, err = newCluster(bin); err != nil {
		return err
	}
	if err := p.primary.create(); err != nil {
		return err
	}
	if err := p.standby.call("pg_basebackup", "-h", p.primary.dir, "-U", "parley", "-D", p.standby.data(), "-R", "-c", "fast", "--no-sync"); err != nil {
		return err
	}
	if err := p.standby.run(); err != nil {
		return err
	}
	// From now on a commit waits for the standby. The standby must not wait for one when it has taken over.
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()",
		"SELECT 1 / COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'"} {
		if err := p.primary.until(statement); err != nil {
			return err
		}
	}
	return nil
}

// URL returns the URL of an empty database on whichever server can be written to.
func (p *Pair) URL() string {
	return "postgres:///postgres?" + url.Values{"host": {p.primary.dir + "," + p.standby.dir}, "user": {"parley"}}.Encode()
}

// FailOver kills the server, as the death of its machine would, and makes the standby replace it.
func (p *Pair) FailOver(t testing.TB) {
	t.Helper()
	if err := p.primary.kill(); err != nil {
		t.Fatalf("kill PostgreSQL: %v", err)
	}
	Exec(t, p.standby.address("postgres"), "SELECT pg_promote()")
}
