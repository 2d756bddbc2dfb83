package upstream

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdog_EndsACallThatIsSilentOrTakesTooLong(t *testing.T) {
	const patience, overall = 10 * time.Second, time.Minute
	cases := map[string]struct {
		every time.Duration // interval between events; 0 means no events
		want  error
		after time.Duration
	}{
		"nothing comes":                   {0, errSilent, patience},
		"something comes again and again": {4 * time.Second, errOverall, overall},
		"what comes is too late":          {11 * time.Second, errSilent, patience},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, ended := time.Now(), make(chan error, 10)
				d := newWatchdog(func(cause error) { ended <- cause }, patience, overall)
				defer d.stop()
				var tick <-chan time.Time
				if c.every > 0 {
					ticker := time.NewTicker(c.every)
					defer ticker.Stop()
					tick = ticker.C
				}
				for {
					select {
					case <-tick:
						d.hear()
						continue
					case err := <-ended:
						if took := time.Since(start); !errors.Is(err, c.want) || took != c.after {
							t.Errorf("ended after %v: %v", took, err)
						}
					}
					return
				}
			})
		})
	}
}

func TestWatchdog_WaitsWithAnotherPatienceAndNotAtAllWhenStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 10)
		d := newWatchdog(func(cause error) { ended <- cause }, time.Hour, 2*time.Hour)
		time.Sleep(time.Minute)
		start := time.Now()
		d.wait(time.Second)
		if err := <-ended; !errors.Is(err, errSilent) || time.Since(start) != time.Second {
			t.Errorf("ended after %v: %v", time.Since(start), err)
		}
		d = newWatchdog(func(cause error) { ended <- cause }, time.Second, time.Minute)
		d.stop()
		time.Sleep(time.Hour)
		if len(ended) > 0 {
			t.Errorf("ended when stopped: %v", <-ended)
		}
	})
}

func TestWatchdog_WaitsLongerForWhatShowsThatItIsAtWorkButNotForEver(t *testing.T) {
	for name, c := range map[string]struct{ pings, after time.Duration }{
		"no sign":            {0, time.Minute},
		"signs for a while":  {90 * time.Second, 150 * time.Second},
		"signs all the time": {time.Hour, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, ended := time.Now(), make(chan error, 10)
				d := newWatchdog(func(cause error) { ended <- cause }, time.Minute, 10*time.Minute)
				defer d.stop()
				d.think(time.Minute, 5*time.Minute)
				ping := time.NewTicker(15 * time.Second)
				defer ping.Stop()
				for {
					select {
					case <-ping.C:
						if time.Since(start) <= c.pings {
							d.ping()
						}
						continue
					case err := <-ended:
						if took := time.Since(start); !errors.Is(err, errSilent) || took != c.after {
							t.Errorf("ended after %v: %v", took, err)
						}
					}
					return
				}
			})
		})
	}
}
