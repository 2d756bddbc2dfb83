package pgtest

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cluster is a server with its own folder.
type cluster struct {
	bin  string // folder with the programs
	dir  string // for the socket, the log and the folder data
	as   *syscall.SysProcAttr
	own  []string // settings beside those of all servers
	halt func()   // stops the server; nil before the first start
}

func newCluster(bin string, own ...string) (*cluster, error) {
	dir, err := os.MkdirTemp("", "pg") // t.TempDir can be too long for the path of a socket
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: dir, own: own}
	c.as, err = unprivileged(dir)
	return c, err
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// address returns the URL of a database on the server.
func (c *cluster) address(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {c.dir}, "user": {"parley"}}.Encode()
}

// create makes the cluster and starts its server.
func (c *cluster) create() error {
	initdb := []string{"-D", c.data(), "-U", "parley", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"}
	// A locale that does not sort by bytes shows where the schema forgets to ask for that.
	err := c.call("initdb", append(initdb, "--locale-provider=icu", "--icu-locale=en")...)
	if err != nil && strings.Contains(err.Error(), "ICU is not supported") {
		err = c.call("initdb", initdb...)
	}
	if err != nil {
		return err
	}
	return c.run()
}

// call runs one of PostgreSQL's programs.
func (c *cluster) call(program string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), filepath.Join(c.bin, program), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// run starts the server and waits until it accepts connections.
func (c *cluster) run() error {
	// The shell stops the server when its input ends, which also happens when this process dies.
	shell := exec.CommandContext(context.Background(), "sh", append([]string{"-c", `"$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server`, "sh",
		filepath.Join(c.bin, "postgres"), "-D", c.data()}, c.settings()...)...)
	shell.Dir, shell.SysProcAttr = c.dir, c.as
	log, err := os.Create(filepath.Join(c.dir, "log"))
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
	c.halt = func() {
		input.Close()
		shell.Wait() //nolint:errcheck // the shell returns the server's exit code, which says nothing here
	}
	return c.until("SELECT 1")
}

// remove stops the server and deletes its folder.
func (c *cluster) remove() {
	if c.halt != nil {
		c.halt()
	}
	os.RemoveAll(c.dir)
}

// settings are for speed: what a test writes need not survive a power failure.
func (c *cluster) settings() []string {
	var all []string
	for _, s := range append([]string{"listen_addresses=", "unix_socket_directories=" + c.dir, "fsync=off", "synchronous_commit=off",
		"full_page_writes=off", "max_connections=200", "autovacuum=off"}, c.own...) {
		all = append(all, "-c", s)
	}
	return all
}

// until waits until a statement succeeds.
func (c *cluster) until(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := runOne(ctx, c.address("postgres"), statement)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s", err, tail(filepath.Join(c.dir, "log")))
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
