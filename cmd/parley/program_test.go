package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/internal/documents/ingest"
	"parley/internal/extract/sandbox"
	"parley/internal/store/pgtest"
	"parley/test/needs"
)

// folder is where the program is built. TestMain makes and removes it.
var folder string

// built is the path of the program as users run it. It is built when a test first needs it.
var built = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(folder, "parley")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, out)
	}
	return path, nil
})

// binary returns the path of the program as users run it. With the race detector it skips the test: the program runs in its
// own process, which the detector does not see, so that such a run would only repeat the one without it.
func binary(t testing.TB) string {
	t.Helper()
	if needs.Race {
		t.Skip("the program runs in its own process, which the race detector does not see")
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// wordsAlone is the embedder of programs that tests run, unless they are about vectors: what they find must not depend on
// when vectors are complete.
const wordsAlone = embedsNothing

func TestMain(m *testing.M) {
	sandbox.RunWorkerIfAsked(ingest.Post) // else a worker of a server in this process would run the tests
	var err error
	if folder, err = os.MkdirTemp("", "parley-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("PARLEY_EMBEDDING", wordsAlone)
	runMoreAtOnce()
	code := pgtest.Main(m)
	os.RemoveAll(folder)
	os.Exit(code)
}

// runMoreAtOnce doubles the number of tests that run in parallel, unless -parallel sets it: most of them wait for a program or a
// model that they started. The race detector leaves these tests out.
func runMoreAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !needs.Race {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // it is a number
	}
}

// TestProgram runs the scripts in testdata/script against the built binary. Beside testscript's
// own commands they have:
//
//	freeport NAME             sets $NAME to a loopback address that is free
//	ready ADDR                waits until GET /readyz at ADDR answers 200
//	ingested ADDR             the same, and until the ingestion there has ended
//	embedded ADDR             the same, and until all that was ingested has vectors
//	request METHOD URL [BODY] sends BODY as JSON and makes the response its standard output; with
//	                          ! in front it wants a status outside of 200 to 299
//	field KEY NAME            sets $NAME to the text of a member of the last response
//	occupy NAME               as freeport, but somebody listens there until the script ends
//	exitcode CODE PROGRAM …   runs a program that must exit with this code
//	embeddings NAME           starts a server of embeddings (see embeddingServer), and sets $NAME to its URL
//	website NAME FOLDER       serves a folder on loopback, and sets $NAME to its URL
//	lastline NAME PROGRAM …   sets $NAME to the last line that a program prints
//	status CODE METHOD URL [HEADER VALUE]
//	                          waits until a request, with a header, gets a status
//	newer FOLDER              makes a data folder look written by a newer version
func TestProgram(t *testing.T) {
	dir := filepath.Dir(binary(t))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("PARLEY_EMBEDDING", wordsAlone)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"freeport": scriptFreePort, "ready": scriptReady, "ingested": scriptIngested, "embedded": scriptEmbedded, "request": scriptRequest,
			"field": scriptField, "embeddings": scriptEmbeddings, "website": scriptWebsite,
			"occupy": scriptOccupy, "exitcode": scriptExitCode, "newer": scriptNewer,
			"lastline": scriptLastLine, "status": scriptStatus,
		},
	})
}

// The ports of freeAddr are below those that the system gives to others before a program listens at them.
var (
	firstPort = rand.IntN(20_000)
	nextPort  atomic.Int32
)

// freeAddr returns a free loopback address, each time another one.
func freeAddr() (string, error) {
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+(firstPort+int(nextPort.Add(1)))%20_000)
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no port is free")
}

func scriptFreePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	addr, err := freeAddr()
	ts.Check(err)
	ts.Setenv(args[0], addr)
}

func scriptReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready ADDR")
	}
	ts.Check(awaitReady(args[0]))
}

func scriptIngested(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ingested ADDR")
	}
	ts.Check(awaitIngested(args[0]))
}

func scriptEmbedded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: embedded ADDR")
	}
	ts.Check(awaitEmbedded(args[0]))
}

// awaitEmbedded waits until all that was ingested has vectors.
func awaitEmbedded(addr string) error {
	if err := awaitIngested(addr); err != nil {
		return err
	}
	return poll("vectors at "+addr, func() bool {
		_, body, err := call(http.MethodGet, "http://"+addr+"/readyz", "")
		return err == nil && strings.Contains(body, `"embedding":false,"unembedded":0`)
	})
}

// patience limits the time that a test waits for an event. A passing test never waits that long.
const patience = 60 * time.Second

// pollTime limits the time that poll takes. Parsers give way to everything else on a busy machine.
const pollTime = 5 * time.Minute

// poll calls done every few milliseconds until it returns true.
func poll(what string, done func() bool) error {
	for deadline := time.Now().Add(pollTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return nil
		}
	}
	return fmt.Errorf("%s did not happen within %v", what, pollTime)
}

func awaitReady(addr string) error {
	return poll("ready at "+addr, func() bool {
		status, _, err := call(http.MethodGet, "http://"+addr+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
}

func awaitIngested(addr string) error {
	return poll("the end of the ingestion at "+addr, func() bool {
		status, body, err := call(http.MethodGet, "http://"+addr+"/readyz", "")
		return err == nil && status == http.StatusOK && strings.Contains(body, `"running":false`)
	})
}

func call(method, url, body string) (int, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	return resp.StatusCode, string(text), err
}

func scriptRequest(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: request METHOD URL [BODY]")
	}
	body := strings.Join(args[2:], "")
	status, text, err := call(args[0], args[1], body)
	ts.Check(err)
	if ok := status >= 200 && status < 300; ok == neg {
		ts.Fatalf("status %d: %s", status, text)
	}
	fmt.Fprintf(ts.Stdout(), "%d\n%s\n", status, text)
}

func scriptField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field KEY NAME")
	}
	_, body, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	var members map[string]json.RawMessage
	ts.Check(json.Unmarshal([]byte(body), &members))
	var value string
	ts.Check(json.Unmarshal(members[args[0]], &value))
	ts.Setenv(args[1], value)
}

func scriptOccupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: occupy NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

func scriptExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE PROGRAM …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptLastLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: lastline NAME PROGRAM …")
	}
	ts.Check(ts.Exec(args[1], args[2:]...))
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	ts.Setenv(args[0], lines[len(lines)-1])
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 5 {
		ts.Fatalf("usage: status CODE METHOD URL [HEADER VALUE]")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	last := ""
	err = poll("status "+args[0], func() bool {
		req, err := http.NewRequestWithContext(context.Background(), args[1], args[2], nil)
		ts.Check(err)
		if len(args) == 5 {
			req.Header.Set(args[3], args[4])
		}
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
		ts.Check(err)
		last = fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("WWW-Authenticate"), text)
		return resp.StatusCode == code
	})
	if err != nil {
		ts.Fatalf("%v; the last answer was %s", err, last)
	}
	fmt.Fprintln(ts.Stdout(), last)
}

func scriptNewer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: newer FOLDER")
	}
	db, err := sql.Open("sqlite", filepath.Join(ts.MkAbs(args[0]), "corpus.db"))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec("INSERT INTO migrations (version, applied_at) VALUES (99, 0); VACUUM") // see package pagesum
	ts.Check(err)
}
