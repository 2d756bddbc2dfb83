// Package sandbox reads files in child processes of the same program, with limits on time and memory
// and, where the kernel has Landlock, without access to other files or the network. A parser that
// crashes, hangs or is taken over costs one file.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/extract"
)

// Options configures a Pool. A zero field means the default.
type Options struct {
	Workers  int            // processes at once; the number of processors, at most 2
	CacheDir string         // where PDFium's compiled code is kept; "" compiles it in each worker
	Limits   extract.Limits // for one file
	Idle     time.Duration  // after which a worker without work is ended; 20 s
	// Ahead starts all workers with the first file, so that the next ones find theirs running, and
	// replaces a worker that died at once.
	Ahead bool

	Tesseract *Tesseract  // recognises text instead of the one in this program; nil for none
	Failed    func(error) // called when Tesseract has failed on a page that the one in this program could read; optional
}

// Pool reads files in child processes of the same program (see RunWorkerIfAsked), so that a
// parser which crashes, hangs or eats memory costs one file. Workers start when there is work,
// stay for the next file, and end when there is none; a pool that is not used holds no process.
// All methods are safe for concurrent use.
type Pool struct {
	options Options
	slots   chan struct{} // one token per running Extract
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	idle   []*child
	alive  int // workers, with those that are being started
	closed bool
	active sync.WaitGroup // Extracts and the endings of idle children
}

// ErrClosed is returned by a Pool that has been closed.
var ErrClosed = errors.New("the extraction pool is closed")

// NewPool returns a pool. Close ends its workers.
func NewPool(o Options) *Pool {
	if o.Workers <= 0 {
		o.Workers = min(2, runtime.NumCPU())
	}
	if o.Idle <= 0 {
		o.Idle = 20 * time.Second
	}
	o.Limits = o.Limits.WithDefaults()
	o.CacheDir = absolute(o.CacheDir)
	p := &Pool{options: o, slots: make(chan struct{}, o.Workers)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// absolute returns the absolute name of a folder, or "" if there is none. Workers have a different working folder,
// where a relative name could find files of somebody else.
func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	return abs
}

// Extract reads one file. If the file cannot be read, the error is an *Error and the Result holds only the time that it
// took. Other errors: the context's, ErrClosed, or that no worker can be started.
func (p *Pool) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	j, err := p.job(r)
	if err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	return p.do(ctx, j)
}

// Render draws a page of a PDF document, counted from 1, so that its longer side has at most the given number of
// pixels. If the file is not a PDF or has no such page, the error is an *Error; for other errors see Extract.
func (p *Pool) Render(ctx context.Context, r extract.Request, page, pixels int) (*extract.Image, error) {
	j, err := p.job(r)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	j.Render = &extract.Rendering{Page: page, Pixels: pixels}
	res, err := p.do(ctx, j)
	if err != nil {
		return nil, err
	}
	return res.Image, nil
}

// do lets a worker run a job.
func (p *Pool) do(ctx context.Context, j job) (*extract.Result, error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for retry := false; ; {
		c, err := p.take(j, retry)
		if err != nil {
			return nil, err
		}
		used := !c.fresh
		result, died, err := p.run(ctx, c, j)
		switch {
		case errors.As(err, new(*unasked)):
			if !used {
				return nil, &extract.Error{Reason: extract.Crashed, Detail: "the extraction worker died before it saw the file"}
			}
		case died && used && !retry && ctx.Err() == nil && p.ctx.Err() == nil:
			// Earlier files may have harmed the worker. A new worker shows whether it is this file.
			retry = true
			if j.Spool != "" {
				if err := os.RemoveAll(j.Spool); err != nil {
					return nil, fmt.Errorf("extract: %w", err)
				}
			}
		default:
			return result, err
		}
	}
}

// enter waits for a free slot. Close waits until the caller leaves.
func (p *Pool) enter(ctx context.Context) (leave func(), err error) {
	if !p.begin() {
		return nil, ErrClosed
	}
	select {
	case p.slots <- struct{}{}:
		return func() {
			<-p.slots
			p.active.Done()
		}, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-p.ctx.Done():
		err = ErrClosed
	}
	p.active.Done()
	return nil, err
}

// job turns a request into a job with absolute paths, since workers have a different working folder.
func (p *Pool) job(r extract.Request) (job, error) {
	j := job{Request: r, CacheDir: p.options.CacheDir, Limits: p.options.Limits}
	var err error
	if j.Path, err = filepath.Abs(r.Path); err != nil {
		return job{}, err
	}
	if r.Spool != "" {
		if j.Spool, err = filepath.Abs(r.Spool); err != nil {
			return job{}, err
		}
	}
	if r.Parts > 0 {
		j.Limits.Parts = min(j.Limits.Parts, r.Parts)
	}
	if r.PartsBytes > 0 {
		j.Limits.PartsBytes = min(j.Limits.PartsBytes, r.PartsBytes)
	}
	if r.TextBytes > 0 && r.TextBytes < j.Limits.TextBytes {
		j.Limits.TextBytes, j.Limits.Shared = r.TextBytes, true
	}
	if r.Time > 0 {
		j.Limits.Time = min(j.Limits.Time, r.Time)
	}
	return j, nil
}

// begin counts an activity that Close waits for, unless the pool is closed.
func (p *Pool) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.active.Add(1)
	return true
}

// run lets a child run a job, and then puts it back or ends it. The time limit of the file starts when its parser is
// loaded. It reports whether the child died because of the file.
func (p *Pool) run(ctx context.Context, c *child, j job) (r *extract.Result, died bool, err error) {
	limit, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	slow := loadError()
	var busy atomic.Bool
	var began time.Time
	var took time.Duration
	defer func() {
		if err != nil && errors.As(err, new(*extract.Error)) {
			r = &extract.Result{}
		}
		if r != nil {
			r.Took = took
		}
	}()
	clock := time.AfterFunc(loadTime, cancel)
	defer clock.Stop()
	stopKilling := context.AfterFunc(limit, c.kill)
	stopWaiting := func() {}
	o, err := c.ask(j, func() {
		c.waits.begin(j.Limits.Time)
		began = time.Now()
		slow = timeoutError(j.Limits)
		clock.Stop()
		stopWaiting = c.waits.end(j.Limits.Time, func(starved bool) {
			busy.Store(starved)
			cancel()
		})
	})
	stopWaiting()
	killed := !stopKilling()
	if !began.IsZero() {
		took = min(c.took(began), j.Limits.Time) // the waiting time of a child that has ended is unknown
	}
	if !killed && err == nil {
		p.put(c)
		r, err = o.result()
		return r, false, err
	}
	c.kill()
	c.stop()
	p.buried()
	switch {
	case err == nil: // the answer came as the time ran out
		r, err = o.result()
		return r, false, err
	case p.ctx.Err() != nil:
		return nil, false, ErrClosed
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case limit.Err() != nil && busy.Load():
		return nil, false, busyError(j.Limits)
	case limit.Err() != nil:
		return nil, false, slow
	case errors.As(err, new(*unasked)):
		return nil, false, err
	case c.ranOutOfMemory():
		return nil, true, memoryError(j.Limits)
	}
	return nil, true, &extract.Error{Reason: extract.Crashed, Detail: "the parser died on the file"}
}

func (o outcome) result() (*extract.Result, error) {
	switch {
	case o.Refused != nil:
		return nil, o.Refused
	case o.Failed != "":
		return nil, fmt.Errorf("extract: %s", o.Failed)
	}
	return &extract.Result{Document: o.Document, Image: o.Image, Geometry: o.Geometry, Drawing: o.Drawing, Seen: o.Seen, Post: o.Post}, nil
}

// take returns an idle child that can run the job, the one that was used last if there are several, or else a new one.
// With fresh it always returns a new one.
func (p *Pool) take(j job, fresh bool) (*child, error) {
	p.mu.Lock()
	for i := len(p.idle) - 1; i >= 0 && !fresh; i-- {
		if c := p.idle[i]; c.fits(j) {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.mu.Unlock()
			c.idle.Stop()
			return c, nil
		}
	}
	p.alive++
	p.mu.Unlock()
	c, err := startChild()
	if err != nil {
		p.gone()
		return nil, startError(err)
	}
	p.startAhead()
	return c, nil
}

// startError turns a lack of processes, memory or descriptors into an *Error with the reason Busy.
func startError(err error) error {
	for _, short := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, short) {
			return &extract.Error{Reason: extract.Busy, Detail: "the machine could not start a process to read it: " + short.Error()}
		}
	}
	return err
}

func (p *Pool) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alive--
}

// buried counts a child that has died, and starts another one in its place if the pool starts workers ahead.
func (p *Pool) buried() {
	p.gone()
	p.startAhead()
}

// startAhead starts the missing workers if the pool starts workers ahead. Close waits for them.
func (p *Pool) startAhead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.options.Ahead && !p.closed && p.alive < p.options.Workers {
		p.alive++
		p.active.Add(1)
		go func() {
			defer p.active.Done()
			c, err := startChild()
			if err != nil {
				p.gone() // the next job that needs a worker returns the error
				return
			}
			p.put(c)
		}()
	}
}

// put keeps a child for the next file, until it has been idle for too long.
func (p *Pool) put(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.active.Add(1) // the caller is an activity, so Close is still waiting
		p.alive--
		go func() {
			defer p.active.Done()
			c.stop()
		}()
		return
	}
	p.idle = append(p.idle, c)
	c.idle = time.AfterFunc(p.options.Idle, func() { p.retire(c) })
}

// retire ends a child that is still idle.
func (p *Pool) retire(c *child) {
	p.mu.Lock()
	i := slices.Index(p.idle, c)
	if i < 0 {
		p.mu.Unlock()
		return
	}
	p.idle = slices.Delete(p.idle, i, i+1)
	p.alive--
	p.active.Add(1)
	p.mu.Unlock()
	defer p.active.Done()
	c.stop()
}

// Close ends all workers and waits until they are gone. Running Extracts return ErrClosed.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.alive -= len(idle)
	p.active.Add(len(idle)) // for a second Close, which waits for the first
	p.mu.Unlock()
	p.cancel()
	for _, c := range idle {
		c.idle.Stop()
		c.stop()
		p.active.Done()
	}
	p.active.Wait()
	return nil
}

// Measure returns the positions of characters on a page of a PDF, counted from 1: one list for each range, whose items
// are character indexes as in Page.CharIndexes. Without ranges it returns only the size of the page. For errors see
// Render.
func (p *Pool) Measure(ctx context.Context, r extract.Request, page int, ranges [][]int) (*extract.Geometry, error) {
	j, err := p.job(r)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	j.Measure = &extract.Measuring{Page: page, Ranges: ranges}
	res, err := p.do(ctx, j)
	if err != nil {
		return nil, err
	}
	return res.Geometry, nil
}
