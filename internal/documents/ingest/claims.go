package ingest

import (
	"math"
	"sync"
)

// claimed holds the names that the runs of each data folder have assigned.
var claimed = struct {
	sync.Mutex
	folders map[string]*ledger // by path
}{folders: map[string]*ledger{}}

// ledger holds the names that concurrent runs have assigned and that other runs may not have seen in the
// store. A name stays in it until all runs have ended that began before the run that assigned it ended.
type ledger struct {
	mu    sync.Mutex
	now   int64             // counts starts and ends of runs
	runs  map[*claims]int64 // running runs, with the time of their start
	names map[claimedName]*claims
}

type claimedName struct{ namespace, name string }

// claims are the names that one run has assigned. A nil *claims has none.
type claims struct {
	ledger *ledger
	ended  int64                  // 0 while the run is in progress
	roots  map[claimedName]string // the roots for which names were assigned
}

// claim starts the claims of a run over a data folder; end ends them. A run without a data folder has no
// concurrent runs.
func claim(dataDir string) *claims {
	if dataDir == "" {
		return nil
	}
	path := realPath(dataDir)
	claimed.Lock()
	defer claimed.Unlock()
	l := claimed.folders[path]
	if l == nil {
		l = &ledger{runs: map[*claims]int64{}, names: map[claimedName]*claims{}}
		claimed.folders[path] = l
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &claims{ledger: l, roots: map[claimedName]string{}}
	l.now++
	l.runs[c] = l.now
	return c
}

// end drops the claims that no run needs any longer.
func (c *claims) end() {
	if c == nil {
		return
	}
	defer c.lock()()
	l := c.ledger
	l.now++
	c.ended = l.now
	delete(l.runs, c)
	oldest := int64(math.MaxInt64)
	for _, began := range l.runs {
		oldest = min(oldest, began)
	}
	for name, by := range l.names {
		if by.ended > 0 && by.ended < oldest {
			delete(l.names, name)
		}
	}
}

// lock prevents other runs from assigning names until the returned function is called.
func (c *claims) lock() (unlock func()) {
	if c == nil {
		return func() {}
	}
	c.ledger.mu.Lock()
	return c.ledger.mu.Unlock
}

// taken reports whether another run has assigned a name to another root. Runs of one root follow each
// other, and each has seen the result of the previous one in the store. The caller must hold the lock.
func (c *claims) taken(namespace, name, root string) bool {
	if c == nil {
		return false
	}
	key := claimedName{namespace, name}
	by := c.ledger.names[key]
	return by != nil && by != c && by.roots[key] != root
}

// take records a name that was assigned. The caller must hold the lock.
func (c *claims) take(namespace, name, root string) {
	if c == nil {
		return
	}
	key := claimedName{namespace, name}
	c.ledger.names[key], c.roots[key] = c, root
}
