package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

// asked counts the documents that a worker of the tests has seen.
var asked int

// eaten keeps what a worker that eats memory has got, so that nothing is collected.
var eaten [][]byte

// testPost is what the workers of the tests do with documents: a text that asks for it makes
// them misbehave, any other comes back in capitals.
func testPost(doc *extract.Document, _ []byte) ([]byte, error) {
	asked++
	text := doc.Pages[0].Text
	switch strings.TrimSpace(text) {
	case "please exit":
		os.Exit(7)
	case "please die old":
		if asked > 1 {
			os.Exit(7)
		}
	case "please panic":
		panic("as asked")
	case "please hang":
		select {}
	case "please fail":
		return nil, errors.New("as asked")
	case "please refuse":
		return nil, &extract.Error{Reason: extract.Empty, Detail: "as asked"}
	case "please eat":
		for {
			b := make([]byte, 8<<20)
			for i := range b {
				b[i] = byte(i)
			}
			eaten = append(eaten, b)
		}
	case "your process":
		return fmt.Append(nil, os.Getpid()), nil
	case "your environment":
		return []byte(strings.Join(os.Environ(), " ")), nil
	}
	if words := strings.Fields(text); len(words) == 3 && words[0] == "attempt" && attempts != nil {
		return []byte(attempts(words[1], words[2])), nil
	}
	return []byte(strings.ToUpper(text)), nil
}

// attempts does what a document asks a worker to try; nil where nothing keeps a worker from it.
var attempts func(what, argument string) string

func newTestPool(t testing.TB, o Options) *Pool {
	t.Helper()
	o.CacheDir = extracttest.ParserCache
	if needs.Race && o.Limits.MemoryBytes == 0 {
		o.Limits.MemoryBytes = 2 << 30 // the race detector keeps several bytes for each one
	}
	p := NewPool(o)
	t.Cleanup(func() { p.Close() })
	return p
}

// written writes a text file and returns its path.
func written(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNewPool_ResolvesTheCacheFolderHereAndNotInItsWorkers(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := filepath.Abs("data/cache")
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(Options{CacheDir: "data/cache"})
	defer p.Close()
	if p.options.CacheDir != want {
		t.Errorf("workers, whose folder is another one, are told %q, want %q", p.options.CacheDir, want)
	}
}

func TestPool_ReturnsDocumentAndPost(t *testing.T) {
	p := newTestPool(t, Options{})
	r, err := p.Extract(context.Background(), extract.Request{Name: "stored-as-markdown.md", Path: written(t, "# Hello\n\nfrom *the* worker")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := extracttest.Outline(r.Document), "H1 Hello\nP from the worker\n"; got != want {
		t.Errorf("document = %q, want %q", got, want)
	}
	if got, want := string(r.Post), "HELLO\n\nFROM THE WORKER"; got != want {
		t.Errorf("post = %q, want %q", got, want)
	}
}

func TestPool_SurvivesWhatFilesDoToWorkers(t *testing.T) {
	o := Options{Workers: 1, Limits: extract.Limits{MemoryBytes: 256 << 20}}
	if needs.Race {
		o.Limits.MemoryBytes = 2 << 30
	}
	p := newTestPool(t, o)
	for _, c := range []struct {
		text string
		want extract.Reason
	}{
		{"please exit", extract.Crashed},
		{"please panic", extract.Crashed},
		{"please refuse", extract.Empty},
		{"please eat", extract.TooLarge},
	} {
		if c.want == extract.TooLarge && needs.Race {
			continue // the detector itself dies of the limits
		}
		_, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, c.text)})
		var refused *extract.Error
		if !errors.As(err, &refused) || refused.Reason != c.want {
			t.Errorf("%s: %v, want reason %s", c.text, err, c.want)
		}
		if r, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "next")}); err != nil || string(r.Post) != "NEXT" {
			t.Errorf("after %q: %v, %v", c.text, r, err)
		}
	}
	var refused *extract.Error
	if _, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "please fail")}); err == nil || errors.As(err, &refused) {
		t.Errorf("a failure of post = %v, want an error that is no *Error", err)
	}
}

func TestPool_KillsAWorkerThatTakesTooLong(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1, Limits: extract.Limits{Time: 300 * time.Millisecond}})
	request := extract.Request{Name: "a.txt", Path: written(t, "please hang")}
	_, err := p.Extract(context.Background(), request)
	for tries := 1; extracttest.ReasonOf(err) == extract.Busy && tries < 20; tries++ { // it was killed, but the machine is to blame
		_, err = p.Extract(context.Background(), request)
	}
	if extracttest.ReasonOf(err) != extract.Timeout {
		t.Errorf("Extract = %v, want reason timeout", err)
	}
}

func TestUsed_IsWithoutTheTimeOfABusyMachine(t *testing.T) {
	if now := timesOf(os.Getpid()); now.ran < 0 || now.waited < 0 {
		t.Errorf("negative times %v", now)
	}
	const s = time.Second
	for _, c := range []struct {
		name                 string
		elapsed, ran, waited time.Duration
		want                 time.Duration
	}{
		{"unknown to the system", 31 * s, 0, 0, 31 * s},
		{"alone on the machine", 31 * s, 35 * s, 0, 31 * s},
		{"asleep", 31 * s, 0, 0, 31 * s},
		{"starved", 31 * s, 2 * s, 29 * s, 2 * s},
		{"starved in two threads", 31 * s, 2 * s, 60 * s, s},
		{"at work on a busy machine", 200 * s, 62 * s, 300 * s, 31 * s},
	} {
		if got := usedOf(c.elapsed, c.ran, c.waited); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPool_TriesAFileAgainInANewWorkerWhenAUsedOneDied(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	first := workerProcess(t, p)
	// "please die old" ends a worker that has read something before, and no other.
	r, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "please die old")})
	if err != nil || string(r.Post) != "PLEASE DIE OLD" {
		t.Fatalf("%v, %v", r, err)
	}
	if second := workerProcess(t, p); second == first {
		t.Error("the worker did not die")
	}
	// A new worker that dies is the file's doing.
	if _, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "please exit")}); extracttest.ReasonOf(err) != extract.Crashed {
		t.Errorf("%v", err)
	}
}

func TestPool_StartsItsWorkersAheadAndReplacesThem(t *testing.T) {
	p := newTestPool(t, Options{Workers: 2, Ahead: true})
	idle := func(n int) []int {
		t.Helper()
		p.active.Wait() // for what is being started
		p.mu.Lock()
		defer p.mu.Unlock()
		var pids []int
		for _, c := range p.idle {
			pids = append(pids, c.process.Pid)
		}
		if len(pids) != n || p.alive != n {
			t.Fatalf("%d idle of %d, want %d", len(pids), p.alive, n)
		}
		slices.Sort(pids)
		return pids
	}
	workerProcess(t, p)
	before := idle(2)
	if _, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "please exit")}); extracttest.ReasonOf(err) != extract.Crashed {
		t.Errorf("%v", err)
	}
	if after := idle(2); slices.Equal(before, after) {
		t.Errorf("the dead worker of %v was not replaced", before)
	}
}

func TestPool_TakesTheFilesInsideAFileOut(t *testing.T) {
	p := newTestPool(t, Options{})
	spool := filepath.Join(t.TempDir(), "spool")
	path := filepath.Join(t.TempDir(), "stored")
	if err := os.WriteFile(path, extracttest.MakeZIP(t, "a.txt", "Alpha", "b/c.txt", "Beta"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := p.Extract(context.Background(), extract.Request{Name: "a.zip", Path: path, Spool: spool})
	if err != nil || len(r.Document.Parts) != 2 || r.Post != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if data, err := os.ReadFile(filepath.Join(spool, extract.PartName(1))); err != nil || string(data) != "Beta" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := p.Extract(context.Background(), extract.Request{Name: "a.zip", Path: path, Spool: filepath.Join(t.TempDir(), "s"), Parts: 1}); extracttest.ReasonOf(err) != extract.TooLarge {
		t.Errorf("with a limit of its own: %v", err)
	}
}

func TestWorker_BeginsOnceTheParserIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pdf")
	if err := os.WriteFile(path, extracttest.MakePDF(extracttest.Set("R", 12, 72, 700, "Hello")), 0o600); err != nil {
		t.Fatal(err)
	}
	x := &worker{Extractor: extract.Extractor{CacheDir: extracttest.ParserCache}}
	defer x.Close()
	begun := 0
	o := answer(x, job{Request: extract.Request{Name: "a.pdf", Path: path}, Limits: extract.Limits{}.WithDefaults()}, func() error {
		if begun++; !x.Loaded("PDF") {
			t.Error("the time for the file began before PDFium was loaded")
		}
		return nil
	}, nil)
	if o.Document == nil || begun != 1 {
		t.Errorf("begun %d times, outcome %+v", begun, o)
	}
}

func TestChild_LetsAWorkerBeginOnce(t *testing.T) {
	for name, c := range map[string]struct {
		says  []outcome
		begun int
		err   error
	}{
		"refused at once": {[]outcome{{Refused: &extract.Error{Reason: extract.Empty, Detail: "as asked"}}}, 0, nil},
		"read":            {[]outcome{{Begun: true}, {Post: []byte("x")}}, 1, nil},
		"stalling":        {[]outcome{{Begun: true}, {Begun: true}, {Post: []byte("x")}}, 1, errBegunTwice},
	} {
		t.Run(name, func(t *testing.T) {
			answers, worker, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll(answers, worker)
			for _, o := range c.says { // a pipe holds them all
				if err := writeFrame(worker, o); err != nil {
					t.Fatal(err)
				}
			}
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			begun := 0
			_, err = (&child{stdin: null, stdout: answers}).ask(job{}, func() { begun++ })
			if !errors.Is(err, c.err) || begun != c.begun {
				t.Errorf("begun %d times, error %v; want %d, %v", begun, err, c.begun, c.err)
			}
		})
	}
}

func TestPool_EndsTheJobWithItsContext(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := p.Extract(ctx, extract.Request{Name: "a.txt", Path: written(t, "please hang")})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Extract = %v, want context canceled", err)
	}
}

func TestPool_ReportsAFileThatCannotBeOpened(t *testing.T) {
	p := newTestPool(t, Options{})
	for _, path := range []string{filepath.Join(t.TempDir(), "none.txt"), t.TempDir()} {
		_, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: path})
		var refused *extract.Error
		if !errors.As(err, &refused) || refused.Reason != extract.Unreadable || strings.Contains(refused.Detail, path) {
			t.Errorf("Extract = %v, want unreadable without a path", err)
		}
	}
}

func TestPool_KeepsAWorkerAndReplacesADeadOne(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	first, second := workerProcess(t, p), workerProcess(t, p)
	if first != second {
		t.Errorf("the second file was read by process %d, the first by %d", second, first)
	}
	process, err := os.FindProcess(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.idle[0].ended
	if third := workerProcess(t, p); third == first {
		t.Errorf("the dead process %d answered", third)
	}
}

func workerProcess(t *testing.T, p *Pool) int {
	t.Helper()
	r, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "your process")})
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(r.Post), &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestPool_EndsAnIdleWorker(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1, Idle: time.Millisecond})
	pid := workerProcess(t, p)
	p.mu.Lock()
	idle := slices.Clone(p.idle)
	p.mu.Unlock()
	for _, c := range idle {
		<-c.ended
	}
	p.active.Wait() // for an ending that was under way already
	if process, err := os.FindProcess(pid); err == nil && process.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d still runs", pid)
	}
}

func TestPool_GivesTheWorkerNoEnvironment(t *testing.T) {
	t.Setenv("PARLEY_SECRET", "sesame")
	p := newTestPool(t, Options{})
	r, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: written(t, "your environment")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Post), "PARLEY_EXTRACT_WORKER=1 GOMAXPROCS=2"; got != want {
		t.Errorf("environment = %q, want %q", got, want)
	}
}

func TestPool_IsSafeForConcurrentUse(t *testing.T) {
	p := newTestPool(t, Options{Workers: 2})
	var wg sync.WaitGroup
	for i := range 20 {
		text := fmt.Sprintf("file %d", i)
		if i%7 == 3 {
			text = "please exit"
		}
		path := written(t, text)
		wg.Go(func() {
			r, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: path})
			var refused *extract.Error
			switch {
			case text == "please exit" && (!errors.As(err, &refused) || refused.Reason != extract.Crashed):
				t.Errorf("%s: %v", text, err)
			case text != "please exit" && (err != nil || string(r.Post) != strings.ToUpper(text)):
				t.Errorf("%s: %v %v", text, r, err)
			}
		})
	}
	wg.Wait()
}

func TestPool_CloseEndsRunningAndIdleWorkers(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(Options{Workers: 2})
	pid := workerProcess(t, p)
	done := make(chan error)
	hanging := written(t, "please hang")
	go func() {
		_, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: hanging})
		done <- err
	}()
	go p.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("Extract during Close = %v, want ErrClosed", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if process, err := os.FindProcess(pid); err == nil && process.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d outlived the pool", pid)
	}
	if _, err := p.Extract(context.Background(), extract.Request{Name: "a.txt", Path: hanging}); !errors.Is(err, ErrClosed) {
		t.Errorf("Extract after Close = %v, want ErrClosed", err)
	}
}

func TestWorker_EndsWithItsParent(t *testing.T) {
	c, err := startChild()
	if err != nil {
		t.Fatal(err)
	}
	path := written(t, "please hang")
	if err := writeFrame(c.stdin, job{Request: extract.Request{Name: "a.txt", Path: path}, Limits: extract.Limits{}.WithDefaults()}); err != nil {
		t.Fatal(err)
	}
	c.stdin.Close() // as when the parent dies in whatever way
	<-c.ended
	c.stdout.Close()
	if code := c.state.ExitCode(); code != exitDone {
		t.Errorf("exit code %d, want %d", code, exitDone)
	}
}
