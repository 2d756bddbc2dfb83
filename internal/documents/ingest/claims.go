package ingest

import (
	"math"
	"sync"
)

// claimed are the names that the runs of each data folder have given out.
var claimed = struct {
	sync.Mutex
	folders map[string]*ledger // by path
}{folders: map[string]*ledger{}}

// ledger holds the names that runs beside each other have given out, and that the others may not have
// seen in the store: a name stays in it until all runs have ended that began before its own run ended.
type ledger struct {
	mu    sync.Mutex
	now   int64             // counts beginnings and ends of runs
	runs  map[*claims]int64 // those at work, with their beginnings
	names map[claimedName]*claims
}

type claimedName struct{ namespace, name string }

// claims are the names that one run has given out. Nil has none.
type claims struct {
	ledger *ledger
	ended  int64                  // 0 while the run is at work
	roots  map[claimedName]string // for which names were given
}

// claim begins the claims of a run over a data folder; end ends them. A run without a data folder has no
// other beside it.
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

// end drops what no run needs to know any more.
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

// lock keeps other runs from giving out names until the returned function is called.
func (c *claims) lock() (unlock func()) {
	if c == nil {
		return func() {}
	}
	c.ledger.mu.Lock()
	return c.ledger.mu.Unlock
}

// taken reports whether another run has given out a name for another root. A root has one run at a
// time, which has seen in the store what the one before has done. The caller holds the lock.
func (c *claims) taken(namespace, name, root string) bool {
	if c == nil {
		return false
	}
	key := claimedName{namespace, name}
	by := c.ledger.names[key]
	return by != nil && by != c && by.roots[key] != root
}

// take notes a name that was given out. The caller holds the lock.
func (c *claims) take(namespace, name, root string) {
	if c == nil {
		return
	}
	key := claimedName{namespace, name}
	c.ledger.names[key], c.roots[key] = c, root
}
