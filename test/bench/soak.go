package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	soakClients = 64
	soakFaults  = .05
	// soakStub breaks that share of the answers off, halfway.
	soakStub  = "chunks=100,tps=50,fault=cut,at=50,p=0.05"
	soakEvery = time.Second // between two looks at the size of the program
	// soakWarmup is the share of the time that says nothing about growth: caches and pools fill.
	soakWarmup = .25
)

// soak loads the program for a long time while its upstream breaks answers off, and measures whether
// it grows, and whether each failed turn is one that was broken off.
func (b *bench) soak(ctx context.Context) error {
	upstream, err := b.tooling(ctx, "stubllm", func(addr string) (env, args []string) {
		return nil, []string{"-addr", addr}
	})
	if err != nil {
		return err
	}
	defer upstream.stop()
	data := filepath.Join(b.work, "soak")
	if _, err := consume(exec.CommandContext(ctx, b.program, "ingest", "--data", data, filepath.Join(b.root, "docs"))); err != nil {
		return err
	}
	own, _, err := b.parley(ctx, data, "--model", "openai:stub", "--openai-base-url", upstream.url("/s/"+soakStub+"/v1"))
	if err != nil {
		return err
	}
	defer own.stop()
	rep, sizes, err := b.soakFor(ctx, own)
	if err != nil {
		return err
	}
	turns, err := turnsByEnd(ctx, own)
	if err != nil {
		return err
	}
	faults, err := stubFaults(ctx, upstream)
	if err != nil {
		return err
	}
	unanswered := 0
	for _, n := range rep.Errors {
		unanswered += n
	}
	asked := rep.OK + unanswered
	if asked == 0 || len(sizes) < 10 {
		return fmt.Errorf("%d turns and %d sizes: too little to say anything, run for longer", asked, len(sizes))
	}
	name := fmt.Sprintf("%d clients for %s, %g %% of the answers broken off by the upstream", soakClients, b.soakTime, 100*soakFaults)
	growth := slope(sizes)
	b.add("growth of the resident size after the warm-up, "+name, "≤ 1 % an hour", "%+.2f %% an hour (%+.2f MiB on %.1f MiB)",
		100*growth/mean(sizes), growth, mean(sizes))
	b.add("failed turns, "+name, "injected ± 0.1 %", "%.3f %% of %d (injected %.3f %%)",
		100*turns["failed"]/float64(asked), asked, 100*faults/float64(asked))
	b.add("requests without an answer, "+name, "none", "%d of %d%s", unanswered, asked, kinds(rep.Errors))
	return nil
}

// kinds names errors and how often they came.
func kinds(errors map[string]int) string {
	if len(errors) == 0 {
		return ""
	}
	return " " + strings.TrimPrefix(fmt.Sprint(errors), "map")
}

// size is that of a process at a time.
type size struct {
	hours, mib float64
}

// soakFor loads a server and returns its sizes after the warm-up.
func (b *bench) soakFor(ctx context.Context, s *server) (rep report, sizes []size, err error) {
	program, err := b.tool(ctx, "loadgen")
	if err != nil {
		return rep, nil, err
	}
	load := exec.CommandContext(ctx, program, "-url", s.url(endpoints[0].path), "-mode", "ndjson", "-body", question,
		"-c", strconv.Itoa(soakClients), "-n", "0", "-d", b.soakTime.String(), "-ramp", "2s")
	type outcome struct {
		out []byte
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends with the command, which ends with ctx
		out, err := load.Output()
		done <- outcome{out, err}
	}()
	began := time.Now()
	tick := time.NewTicker(soakEvery)
	defer tick.Stop()
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return rep, nil, fmt.Errorf("load %s: %w", s.cmd.Path, o.err)
			}
			return rep, sizes, json.Unmarshal(o.out, &rep)
		case <-tick.C:
			after := time.Since(began)
			mib, err := s.resident()
			if err != nil {
				return rep, nil, err
			}
			if after.Truncate(time.Minute) > (after - soakEvery).Truncate(time.Minute) {
				fmt.Fprintf(os.Stderr, "after %s: %.2f MiB\n", after.Round(time.Minute), mib)
			}
			if after < time.Duration(soakWarmup*float64(b.soakTime)) || after > b.soakTime {
				continue
			}
			sizes = append(sizes, size{after.Hours(), mib})
		}
	}
}

// slope returns the growth in MiB an hour: that of the straight line through the sizes.
func slope(sizes []size) float64 {
	var hours, above, below float64
	for _, s := range sizes {
		hours += s.hours / float64(len(sizes))
	}
	middle := mean(sizes)
	for _, s := range sizes {
		above += (s.hours - hours) * (s.mib - middle)
		below += (s.hours - hours) * (s.hours - hours)
	}
	return above / below
}

func mean(sizes []size) (mib float64) {
	for _, s := range sizes {
		mib += s.mib / float64(len(sizes))
	}
	return mib
}

// turnsByEnd returns how many turns ended how.
func turnsByEnd(ctx context.Context, s *server) (map[string]float64, error) {
	values, err := s.metrics(ctx)
	turns := map[string]float64{}
	for series, value := range values {
		if rest, ok := strings.CutPrefix(series, `parley_turns_total{status="`); ok {
			turns[strings.TrimSuffix(rest, `"}`)] = value
		}
	}
	return turns, err
}

// stubFaults returns how many faults the upstream has injected.
func stubFaults(ctx context.Context, upstream *server) (float64, error) {
	body, err := upstream.read(ctx, "/stub/stats")
	if err != nil {
		return 0, err
	}
	var stats struct{ Faults float64 }
	if err := json.Unmarshal(body, &stats); err != nil {
		return 0, fmt.Errorf("read what the upstream did: %w", err)
	}
	return stats.Faults, nil
}
