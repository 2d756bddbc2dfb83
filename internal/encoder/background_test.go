package encoder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// restart forgets the runs of other tests, whose time is another one.
func restart() {
	start, impatient = time.Now(), make(chan struct{}, 1)
	rested.Store(-int64(pause))
}

func TestBackground_WaitsUntilNobodyElseIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		restart()
		waits := func(ctx context.Context) time.Duration {
			p := enter(ctx)
			defer p.leave()
			began := time.Now()
			p.giveWay(ctx)
			return time.Since(began)
		}
		behind := InBackground(t.Context())
		if got := waits(behind); got != 0 {
			t.Errorf("alone it waits %v", got)
		}
		first, second := enter(t.Context()), enter(t.Context())
		if got := waits(t.Context()); got != 0 {
			t.Errorf("a third run waits %v", got)
		}
		if got := waits(behind); got != patience {
			t.Errorf("beside others it waits %v, not %v", got, patience)
		}
		time.AfterFunc(patience/4, first.leave)
		time.AfterFunc(patience/2, second.leave)
		if got := waits(behind); got < patience/2+pause || got > patience/2+2*pause {
			t.Errorf("when the last run ends after %v, it waits %v", patience/2, got)
		}
		third := enter(t.Context())
		defer third.leave()
		ended, cancel := context.WithCancel(behind)
		cancel()
		if got := waits(ended); got != 0 {
			t.Errorf("when its context has ended, it waits %v", got)
		}
	})
}

func TestBackground_WorksBesideOthersOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		restart()
		answer := enter(t.Context())
		defer answer.leave()
		behind := InBackground(t.Context())
		first, second := enter(behind), enter(behind)
		first.giveWay(behind)
		began := time.Now()
		time.AfterFunc(5*patience, first.leave)
		second.giveWay(behind)
		defer second.leave()
		if got := time.Since(began); got != 5*patience {
			t.Errorf("the second one waits %v, not until the first has finished its layer", got)
		}
	})
}
