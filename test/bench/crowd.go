package main

import (
	"context"
	"fmt"
)

// crowd is many concurrent streams at the pace of models.
type crowd struct {
	clients, rate, tokens int
}

var crowds = []crowd{{1000, 20, 200}, {5000, 5, 50}}

// crowd measures many concurrent streams: whether all complete, the delay of a token in the
// program, and the memory. Each crowd runs against the floor first.
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
		// Only the first crowd's memory counts: the second starts with the memory that the first
		// has left.
		first := r.parley[0].Server
		b.add("memory, "+l.name, "", "%.0f KiB a stream, %.0f MiB in all",
			1024*(first.Peak-first.Before)/float64(c.clients), first.Peak)
	}
	return nil
}

// whole compares the cost of a JSON answer, apart from the search, with the floor's, and measures
// the floor with the commits of a turn.
func (b *bench) whole(ctx context.Context) error {
	l := load{name: "JSON", stub: "chunks=50,tps=0", clients: 4, answers: 1500, rounds: 7, mode: "json", body: questionWhole,
		paths: []string{"/p/azure-0529/chat", "/p/azure-0128/chat"}, durable: true}
	search, err := b.lone(ctx, l)
	if err != nil {
		return err
	}
	rounds, err := b.drive(ctx, l)
	if err != nil {
		return err
	}
	var durable, committed []float64
	for _, r := range rounds {
		committed = append(committed, r.durable.Server.PerRequest)
		durable = append(durable, r.durable.Server.PerRequest/r.floor.Server.PerRequest)
	}
	b.add("CPU of a JSON answer of the floor with two durable commits, of an intent and of a turn", "",
		"%.1f × floor (%.0f µs)", median(durable), median(committed))
	for i, e := range endpoints {
		var ratio, own, floor []float64
		for _, r := range rounds {
			beyond := r.parley[i].Server.PerRequest - 1e3*search[i]
			own, floor = append(own, beyond), append(floor, r.floor.Server.PerRequest)
			ratio = append(ratio, beyond/r.floor.Server.PerRequest)
		}
		b.add("CPU of a JSON answer beyond the search, "+e.version, "ratio to the floor",
			"%.1f × floor (%.0f µs / %.0f µs)", median(ratio), median(own), median(floor))
	}
	return nil
}

// lone returns how long the search of an answer takes by endpoint, in ms, on an idle machine.
// Nothing in it waits, so that is processor time.
func (b *bench) lone(ctx context.Context, l load) ([]float64, error) {
	l.clients, l.answers, l.rounds, l.durable = 1, 200, 3, false
	rounds, err := b.drive(ctx, l)
	if err != nil {
		return nil, err
	}
	search := make([]float64, len(endpoints))
	for i := range search {
		var times []float64
		for _, r := range rounds {
			times = append(times, r.search[i])
		}
		search[i] = median(times)
	}
	return search, nil
}
