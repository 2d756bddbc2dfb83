package main

import (
	"context"
	"fmt"
)

// crowd is many streams at once, at the pace of models.
type crowd struct {
	clients, rate, tokens int
}

var crowds = []crowd{{1000, 20, 200}, {5000, 5, 50}}

// crowd measures what many streams at once take: whether all complete, how long a token is on its
// way through the program, and the memory. Each crowd goes through the floor first.
func (b *bench) crowd(ctx context.Context) error {
	for _, c := range crowds {
		l := load{
			name: fmt.Sprintf("%d streams at %d tokens a second", c.clients, c.rate),
			stub: fmt.Sprintf("chunks=%d,tps=%d,ts=1", c.tokens, c.rate), clients: c.clients, answers: c.clients, rounds: 1,
			flags: []string{"-mark", "@", "-ramp", "5s", "-timeout", "3m"}, warmup: "0",
		}
		rounds, err := b.drive(ctx, l)
		if err != nil {
			return err
		}
		r := rounds[0]
		for i, e := range endpoints {
			own := r.parley[i]
			b.add(l.name+", "+e.version, "all complete", "%d of %d complete", own.OK, c.clients)
			b.add("a token's way through the program, "+l.name+", "+e.version+", p99", "",
				"%.1f ms (floor %.1f ms)", own.Transit.P99, r.floor.Transit.P99)
		}
		// Of the first crowd only: the second finds the memory that the first has left.
		first := r.parley[0].Server
		b.add("memory, "+l.name, "", "%.0f KiB a stream, %.0f MiB in all",
			1024*(first.Peak-first.Before)/float64(c.clients), first.Peak)
	}
	return nil
}

// whole measures what a JSON answer costs beside the floor's, beyond the search.
func (b *bench) whole(ctx context.Context) error {
	l := load{name: "JSON", stub: "chunks=50,tps=0", clients: 4, answers: 300, rounds: 7, mode: "json", body: questionWhole,
		paths: []string{"/p/azure-0529/chat", "/p/azure-0128/chat"}}
	rounds, err := b.drive(ctx, l)
	if err != nil {
		return err
	}
	for i, e := range endpoints {
		var ratio, own, floor []float64
		for _, r := range rounds {
			// The search's time is processor time: nothing in it waits.
			beyond := r.parley[i].Server.PerRequest - 1e3*r.search[i]
			own, floor = append(own, beyond), append(floor, r.floor.Server.PerRequest)
			ratio = append(ratio, beyond/r.floor.Server.PerRequest)
		}
		b.add("CPU of a JSON answer beyond the search, "+e.version, "ratio to the floor",
			"%.1f × floor (%.0f µs / %.0f µs)", median(ratio), median(own), median(floor))
	}
	return nil
}
