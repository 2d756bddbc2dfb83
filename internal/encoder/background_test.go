package encoder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackground_WaitsUntilNobodyElseIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context) time.Duration {
			leave, giveWay := enter(ctx)
			defer leave()
			if giveWay == nil {
				return 0
			}
			began := time.Now()
			giveWay()
			return time.Since(began)
		}
		behind := InBackground(t.Context())
		time.Sleep(pause) // whatever ran before this test
		if got := waits(behind); got != 0 {
			t.Errorf("alone it waits %v", got)
		}
		first, _ := enter(t.Context())
		second, _ := enter(t.Context())
		if got := waits(t.Context()); got != 0 {
			t.Errorf("a third run waits %v", got)
		}
		if got := waits(behind); got != patience {
			t.Errorf("beside others it waits %v, not %v", got, patience)
		}
		time.AfterFunc(patience/4, first)
		time.AfterFunc(patience/2, second)
		if got := waits(behind); got < patience/2+pause || got > patience/2+2*pause {
			t.Errorf("when the last run ends after %v, it waits %v", patience/2, got)
		}
		ended, cancel := context.WithCancel(behind)
		cancel()
		third, _ := enter(t.Context())
		defer third()
		if got := waits(ended); got != 0 {
			t.Errorf("when its context has ended, it waits %v", got)
		}
	})
}
