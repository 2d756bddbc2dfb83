package ingest

import (
	"sync"
	"time"
)

// Phase is the current part of a run.
type Phase string

// The phases, in order.
const (
	Crawling Phase = "crawl" // walking over web sites, reading and committing pages
	Scanning Phase = "scan"  // looking for files
	Indexing Phase = "index" // reading and committing them
	Sweeping Phase = "sweep" // removing originals without a document
	Done     Phase = "done"
)

// Progress is the state of a run at one moment.
type Progress struct {
	Phase      Phase
	FilesTotal int // found so far
	FilesDone  int // of FilesTotal, including unchanged ones
	Unchanged  int
	Skipped    int
	Failed     int
	Waiting    int // files that will be retried later, because the machine had no time for them
	PagesDone  int // a document without pages counts as one page
	ChunksDone int
	BytesTotal int64         // of the files that must be read
	BytesDone  int64         // of BytesTotal
	Rate       float64       // pages per second
	ETA        time.Duration // 0 if unknown
	Current    string        // a file that is being read
}

// progressInterval is the minimum time between two reports of progress.
const progressInterval = 100 * time.Millisecond

// meter counts progress. Several goroutines update its counters; only one calls its callback.
type meter struct {
	report func(Progress)
	mu     sync.Mutex
	now    Progress
	began  time.Time // start of the phase
	last   time.Time // when a file was read last
}

func newMeter(report func(Progress), began time.Time) *meter {
	if report == nil {
		report = func(Progress) {}
	}
	return &meter{report: report, began: began}
}

// phase starts a phase and reports it.
func (m *meter) phase(p Phase) {
	m.mu.Lock()
	m.now.Phase, m.began = p, time.Now()
	m.mu.Unlock()
	m.tell()
}

// finish reports the end.
func (m *meter) finish() {
	m.mu.Lock()
	m.now.Phase, m.now.ETA, m.now.Current = Done, 0, ""
	last := m.now
	m.mu.Unlock()
	m.report(last)
}

// tell reports the current state.
func (m *meter) tell() {
	m.mu.Lock()
	if m.now.Phase == Indexing {
		if elapsed := time.Since(m.began); elapsed > 0 && m.now.BytesDone > 0 {
			m.now.Rate = float64(m.now.PagesDone) / elapsed.Seconds()
			m.now.ETA = timeLeft(m.last.Sub(m.began), time.Since(m.last), m.now.BytesDone, m.now.BytesTotal)
		}
	}
	p := m.now
	m.mu.Unlock()
	m.report(p)
}

// The remaining time is shown once this much has been done: the first files say little about the rest,
// and their time includes the start of the workers.
const (
	etaShare = 0.05
	etaAfter = 3 * time.Second
)

// timeLeft estimates the remaining time. took is the time in which the done bytes were read, and since the time since the last file was
// done. The result is 0 if too little is known, or if the present file has already taken longer than the estimate for all the rest.
func timeLeft(took, since time.Duration, done, total int64) time.Duration {
	if done <= 0 || took+since < etaAfter && float64(done) < etaShare*float64(total) {
		return 0
	}
	return max(0, time.Duration(float64(took)*float64(total-done)/float64(done))-since)
}

func (m *meter) add(change func(p *Progress)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.now)
}

// found counts the files of a root. Files that failed or were skipped are done already.
func (m *meter) found(candidates []*candidate, failed, skipped int) {
	m.add(func(p *Progress) {
		p.FilesTotal += len(candidates) + failed + skipped
		p.FilesDone += failed + skipped
		p.Failed += failed
		p.Skipped += skipped
	})
}

// inside counts nested files, which were unknown before.
func (m *meter) inside(n int) { m.add(func(p *Progress) { p.FilesTotal += n }) }

// total returns the number of files known so far.
func (m *meter) total() (n int) {
	m.add(func(p *Progress) { n = p.FilesTotal })
	return n
}

func (m *meter) toRead(size int64) { m.add(func(p *Progress) { p.BytesTotal += size }) }

func (m *meter) unchanged() { m.add(func(p *Progress) { p.FilesDone++; p.Unchanged++ }) }

func (m *meter) reading(path string) { m.add(func(p *Progress) { p.Current = path }) }

func (m *meter) skip() { m.add(func(p *Progress) { p.Skipped++ }) }

func (m *meter) fail() { m.add(func(p *Progress) { p.Failed++ }) }

// done counts a file that was read.
func (m *meter) done(size int64, pages, chunks int) {
	m.add(func(p *Progress) {
		m.last = time.Now()
		p.FilesDone++
		p.BytesDone += size
		p.PagesDone += pages
		p.ChunksDone += chunks
	})
}
