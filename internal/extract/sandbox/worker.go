package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"parley/internal/extract"
	_ "parley/internal/extract/formats" // the formats that workers read
	"parley/internal/ocr"
)

// workerVariable asks a process to be a worker.
const workerVariable = "PARLEY_EXTRACT_WORKER"

// The exit codes of a worker that ends by itself.
const (
	exitDone   = 0
	exitMemory = 3 // the file needed more memory than allowed
	exitBroken = 4 // its pipes broke
)

// PostFunc processes a document in the worker that read it. options is Request.Post; the returned value becomes
// Result.Post. If it returns an *Error, the file is refused.
type PostFunc func(doc *extract.Document, options []byte) ([]byte, error)

// becomesWorker records that this program has called RunWorkerIfAsked.
var becomesWorker atomic.Bool

// workerProgram returns the path of this program if its processes become workers. Without that call, a process that was
// started as a worker would run the whole program again, and start such processes itself.
func workerProgram() (string, error) {
	if !becomesWorker.Load() {
		return "", errors.New("this program does not call sandbox.RunWorkerIfAsked")
	}
	return workerExecutable()
}

// RunWorkerIfAsked turns the process into a worker if a Pool started it as one, and then does not return. The main
// function of a program that uses a Pool must call it first; so must TestMain. post processes each document in the
// worker, and Pool.Extract returns its result. It may be nil.
func RunWorkerIfAsked(post PostFunc) {
	becomesWorker.Store(true)
	switch os.Getenv(workerVariable) {
	case "1":
	case launchVariable:
		fmt.Fprintln(os.Stderr, become(os.Args))
		os.Exit(exitBroken)
	default:
		return
	}
	out := os.Stdout
	os.Stdout = os.Stderr // nobody else writes between the messages
	os.Exit(serveJobs(os.Stdin, out, post))
}

// worker reads the files of jobs, one after another.
type worker struct {
	extract.Extractor
	waits waits       // of this process
	ocr   *ocr.Reader // nil before the first page that is recognised
}

// serveJobs answers jobs until its input ends.
func serveJobs(in io.Reader, out io.Writer, post PostFunc) int {
	jobs := make(chan job)
	go func() { // ends with the process, at once when the parent is gone
		for {
			var j job
			if readFrame(in, &j) != nil {
				os.Exit(exitDone)
			}
			jobs <- j
		}
	}()
	var x *worker
	var spools string // of the first job, below which all jobs write
	shut := false
	for j := range jobs {
		if x == nil {
			x = &worker{Extractor: extract.Extractor{CacheDir: j.CacheDir}, waits: waits{pid: os.Getpid()}}
			spools = spoolsOf(j)
			confine(j.Limits)
			go watchMemory(j.Limits.MemoryBytes)
		}
		x.Limits = j.Limits
		confineCPU(loadTime)
		begin := func() error {
			confineCPU(j.Limits.Time)
			if !shut && j.Handed { // its parser is loaded; nothing of the file has been parsed
				if err := shutIn(j.CacheDir, spools); err != nil {
					return fmt.Errorf("take files from the worker: %w", err)
				}
				shut = true
			}
			return writeFrame(out, outcome{Begun: true})
		}
		if err := writeFrame(out, answer(x, j, begin, post)); err != nil {
			return exitBroken
		}
	}
	return exitDone
}

// answer runs one job. It calls begin when the parser is loaded.
func answer(x *worker, j job, begin func() error, post PostFunc) outcome {
	if j.Render != nil {
		var img *extract.Image
		err := withFile(x, j, begin, func(ctx context.Context, o *extract.Opened) (err error) {
			img, err = o.Render(ctx, *j.Render)
			return err
		})
		return outcome{Image: img}.or(err)
	}
	if j.Measure != nil {
		var g *extract.Geometry
		err := withFile(x, j, begin, func(ctx context.Context, o *extract.Opened) (err error) {
			g, err = o.Measure(ctx, *j.Measure)
			return err
		})
		return outcome{Geometry: g}.or(err)
	}
	if j.Draw > 0 {
		drawing, err := x.draw(j, begin)
		return outcome{Drawing: drawing}.or(err)
	}
	if j.Read != nil {
		page, err := x.recognise(j, begin)
		return outcome{Seen: page}.or(err)
	}
	var doc *extract.Document
	err := withFile(x, j, begin, func(ctx context.Context, o *extract.Opened) (err error) {
		if doc, err = o.Read(ctx); err == nil {
			doc.DropSections(j.Without)
		}
		return err
	})
	if err == nil && post != nil && len(doc.Pages) > 0 {
		var result []byte
		if result, err = postProcess(post, doc, j.Post); err == nil {
			return outcome{Document: doc, Post: result}
		}
	}
	return outcome{Document: doc}.or(err)
}

// or returns o, or the outcome for err if that is not nil.
func (o outcome) or(err error) outcome {
	var refused *extract.Error
	switch {
	case err == nil:
		return o
	case errors.As(err, &refused):
		return outcome{Refused: refused}
	}
	return outcome{Failed: err.Error()}
}

// withFile opens a job's file and calls a function with it. Where the parser looks at its context, it gives up a little
// before the parent loses patience, so that the worker need not be killed.
func withFile(x *worker, j job, begin func() error, do func(context.Context, *extract.Opened) error) error {
	var f *os.File
	var err error
	if j.Handed {
		f, err = takeOver()
	} else {
		f, err = openDocument(j.Path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return &extract.Error{Reason: extract.Unreadable, Detail: "it is not a regular file"}
	}
	o, err := x.Open(extract.Input{
		Name: j.Name, Content: f, Size: info.Size(), Spool: j.Spool, Passwords: j.Passwords, Seen: j.Seen,
	})
	if err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	x.waits.begin(j.Limits.Time)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer x.waits.end(j.Limits.Time*9/10, func(busy bool) {
		if busy {
			cancel(busyError(j.Limits))
		} else {
			cancel(timeoutError(j.Limits))
		}
	})()
	if err = do(ctx, o); errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

func openDocument(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, &extract.Error{Reason: extract.Unreadable, Detail: "the file cannot be opened"}
	}
	return f, nil
}

func postProcess(post PostFunc, doc *extract.Document, options []byte) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &extract.Error{Reason: extract.Crashed, Detail: fmt.Sprintf("processing its text panicked: %.200v", p)}
		}
	}()
	return post(doc, options)
}

func timeoutError(l extract.Limits) *extract.Error {
	return &extract.Error{Reason: extract.Timeout, Detail: fmt.Sprintf("reading it takes longer than %s", l.Time)}
}

// loadTime is the time limit for loading a parser. Compiling PDFium takes 2 s of an idle processor, and much longer on
// a busy machine.
const loadTime = 2 * time.Minute

func busyError(l extract.Limits) *extract.Error {
	return &extract.Error{Reason: extract.Busy, Detail: fmt.Sprintf("the machine was too busy to read it within %s", patience*l.Time)}
}

func loadError() *extract.Error {
	return &extract.Error{Reason: extract.Busy, Detail: fmt.Sprintf("the machine was too busy to load its parser within %s", loadTime)}
}

func memoryError(l extract.Limits) *extract.Error {
	return extract.TooLargef("reading it needs more than %d MiB of memory", l.MemoryBytes>>20)
}

// codeBytes is the memory that the process needs beside what the Go runtime manages: the program and PDFium's compiled
// code.
const codeBytes = 48 << 20

// watchMemory ends the process when it holds more memory than allowed and cannot give it back.
func watchMemory(limit int64) {
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	over := func() bool {
		metrics.Read(held)
		return int64(held[0].Value.Uint64()-held[1].Value.Uint64()) > limit-codeBytes
	}
	for range time.Tick(50 * time.Millisecond) {
		if over() {
			debug.FreeOSMemory()
			if over() {
				os.Exit(exitMemory)
			}
		}
	}
}
