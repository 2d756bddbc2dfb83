package crawl

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/fetch"
)

func TestPatiently_AsksAgainWhenTheServerSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		retryAfter time.Duration
		asked      int
		waited     time.Duration
	}{
		"soon":           {http.StatusTooManyRequests, 5 * time.Second, 2, 5 * time.Second},
		"unavailable":    {http.StatusServiceUnavailable, time.Minute, 2, time.Minute},
		"it does not":    {http.StatusServiceUnavailable, 0, 1, 0},
		"much later":     {http.StatusTooManyRequests, time.Hour, 1, 0},
		"another status": {http.StatusBadGateway, time.Second, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &walk{crawler: &Crawler{opts: Options{}}, began: time.Now()}
				asked := 0
				page, err := w.patiently(t.Context(), func() (*fetch.Page, error) {
					if asked++; asked == 2 {
						return &fetch.Page{}, nil
					}
					return nil, &fetch.Error{Kind: fetch.KindStatus, Status: c.status, RetryAfter: c.retryAfter}
				})
				if asked != c.asked || (err == nil) != (asked == 2) || (page == nil) != (err != nil) {
					t.Errorf("asked %d times, want %d: %v, %v", asked, c.asked, page, err)
				}
				if waited := time.Since(w.began); waited != c.waited {
					t.Errorf("waited %v, want %v", waited, c.waited)
				}
			})
		})
	}
}

func TestWalk_HasTimeForAllPagesThatItMayRead(t *testing.T) {
	for _, c := range []struct {
		pages int
		delay time.Duration
		want  time.Duration
	}{
		{200, 500 * time.Millisecond, time.Hour},
		{10_000, 500 * time.Millisecond, 20_000 * time.Second},
		{1000, 10 * time.Second, 20_000 * time.Second},
	} {
		w := &walk{crawler: New(nil, Options{Delay: c.delay}), site: Site{Pages: c.pages}}
		if got := w.limit(); got != c.want {
			t.Errorf("%d pages at %v: %v, want %v", c.pages, c.delay, got, c.want)
		}
	}
}
