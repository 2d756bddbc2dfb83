package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	soakFaults = .05
	// soakStub cuts this share of the answers off halfway.
	soakStub  = "chunks=100,tps=50,fault=cut,at=50,p=0.05"
	soakEvery = 5 * time.Second // between two readings of the program's size

	shortestSoak = 5 * time.Minute

	// The warm-up ends when caches and pools are full: when the second half of the last warmRounds
	// rounds took at most warmLevel more anonymous memory than the first half. Rounds are long,
	// because garbage fluctuates.
	warmRound  = 2 * time.Minute
	warmRounds = 4
	warmLevel  = .01
	warmest    = 10 // most rounds
)

// soak loads the program for a long time while its upstream cuts answers off, and measures whether
// memory grows, and whether the failed turns are exactly those cut off.
func (b *bench) soak(ctx context.Context) error {
	if b.soakTime < shortestSoak {
		return fmt.Errorf("growth can be seen in %s and more", shortestSoak)
	}
	upstream, err := b.tooling(ctx, "stubllm", func(addr string) (env, args []string) {
		return nil, []string{"-addr", addr}
	})
	if err != nil {
		return err
	}
	defer upstream.stop()
	data := filepath.Join(b.work, "soak")
	ingest := append([]string{"ingest", "--data", data, filepath.Join(b.root, "docs")}, b.onDatabase()...)
	if _, err := consume(exec.CommandContext(ctx, b.program, ingest...)); err != nil {
		return err
	}
	own, _, err := b.parley(ctx, data, append(b.onDatabase(), "--model", "openai:stub", "--openai-base-url", upstream.url("/s/"+soakStub+"/v1"))...)
	if err != nil {
		return err
	}
	defer own.stop()
	warm, level, err := b.warmUp(ctx, own)
	if err != nil {
		return err
	}
	before, err := soakCounts(ctx, own, upstream)
	if err != nil {
		return err
	}
	rep, sizes, err := b.loadFor(ctx, own, b.soakTime)
	if err != nil {
		return err
	}
	after, err := soakCounts(ctx, own, upstream)
	if err != nil {
		return err
	}
	unanswered := 0
	for _, n := range rep.Errors {
		unanswered += n
	}
	asked := rep.OK + unanswered
	if asked == 0 {
		return errors.New("no turn was asked for")
	}
	name := fmt.Sprintf("%d clients for %s, %g %% of the answers broken off by the upstream", b.soakClients, b.soakTime, 100*soakFaults)
	if b.database != "" {
		name += ", on PostgreSQL"
	}
	b.addGrowth(sizes, name, warm, level)
	failed, faults := after.failed-before.failed, after.faults-before.faults
	b.add("failed turns, "+name, "injected ± 0.1 %", "%.3f %% of %d (injected %.3f %%)",
		100*failed/float64(asked), asked, 100*faults/float64(asked))
	b.add("requests without an answer, "+name, "none", "%d of %d%s", unanswered, asked, kinds(rep.Errors))
	return nil
}

// addGrowth adds figures for the sizes after the warm-up.
func (b *bench) addGrowth(sizes []size, name string, warm time.Duration, level bool) {
	warmed := fmt.Sprintf("after %s of warm-up", warm)
	if !level {
		warmed += ", which did not get level"
	}
	for _, part := range []struct {
		name, goal string
		of         func(size) float64
	}{
		{"resident size", "≤ 1 % an hour", size.resident},
		{"Go heap", "", func(s size) float64 { return s.heap }},
		{"anonymous memory that is not the Go heap", "", func(s size) float64 { return s.anonymous - s.heap }},
		{"mapped files", "", func(s size) float64 { return s.mapped }},
	} {
		growth, uncertain := slope(sizes, part.of)
		middle := mean(sizes, part.of)
		b.add(fmt.Sprintf("growth of the %s, %s, %s", part.name, name, warmed), part.goal,
			"%+.2f ± %.2f %% an hour (%+.2f MiB on %.1f MiB)", 100*growth/middle, 100*uncertain/middle, growth, middle)
	}
}

// warmUp loads the server until its anonymous memory is level, and returns how long that took.
func (b *bench) warmUp(ctx context.Context, s *server) (took time.Duration, level bool, err error) {
	var means []float64
	for range warmest {
		_, sizes, err := b.loadFor(ctx, s, warmRound)
		if err != nil {
			return 0, false, err
		}
		took += warmRound
		means = append(means, mean(sizes, func(s size) float64 { return s.anonymous }))
		fmt.Fprintf(os.Stderr, "warm-up: %.2f MiB of anonymous memory in the mean of %s\n", means[len(means)-1], warmRound)
		if isLevel(means) {
			return took, true, nil
		}
	}
	return took, false, nil
}

// isLevel reports whether the means of rounds have stopped growing.
func isLevel(means []float64) bool {
	if len(means) < warmRounds {
		return false
	}
	last := means[len(means)-warmRounds:]
	var sums [2]float64
	for i, m := range last {
		sums[i*2/warmRounds] += m
	}
	return sums[1] <= (1+warmLevel)*sums[0]
}

// counts are the failed turns and the faults that the upstream injected.
type counts struct{ failed, faults float64 }

func soakCounts(ctx context.Context, s, upstream *server) (c counts, err error) {
	turns, err := turnsByEnd(ctx, s)
	if err != nil {
		return c, err
	}
	c.failed = turns["failed"]
	c.faults, err = stubFaults(ctx, upstream)
	return c, err
}

// kinds lists errors with their counts.
func kinds(errors map[string]int) string {
	if len(errors) == 0 {
		return ""
	}
	return " " + strings.TrimPrefix(fmt.Sprint(errors), "map")
}

// size is the memory of a process at a time, in MiB.
type size struct {
	hours     float64 // the time
	anonymous float64
	mapped    float64 // the program's code and the indexes of SQLite's logs
	heap      float64 // the part of anonymous that Go's heap and stacks take, including free memory; 0 if not measured
}

func (s size) resident() float64 { return s.anonymous + s.mapped }

// loadFor loads a server for a time and returns its sizes during that time.
func (b *bench) loadFor(ctx context.Context, s *server, length time.Duration) (rep report, sizes []size, err error) {
	program, err := b.tool(ctx, "loadgen")
	if err != nil {
		return rep, nil, err
	}
	load := exec.CommandContext(ctx, program, "-url", s.url(endpoints[0].path), "-mode", "ndjson", "-body", question,
		"-c", strconv.Itoa(b.soakClients), "-n", "0", "-d", length.String(), "-ramp", "2s")
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
			now, err := s.sizeWithHeap(ctx)
			if err != nil {
				return rep, nil, err
			}
			if after.Truncate(time.Minute) > (after - soakEvery).Truncate(time.Minute) {
				fmt.Fprintf(os.Stderr, "after %s: %.2f MiB, of which %.2f are mapped files\n", after.Round(time.Minute), now.resident(), now.mapped)
			}
			if after <= length {
				now.hours = after.Hours()
				sizes = append(sizes, now)
			}
		}
	}
}

// sizeWithHeap returns the memory of the process with its Go heap.
func (s *server) sizeWithHeap(ctx context.Context) (size, error) {
	now, err := s.size()
	if err != nil {
		return now, err
	}
	values, err := s.metrics(ctx)
	now.heap = (values["go_memstats_heap_sys_bytes"] - values["go_memstats_heap_released_bytes"] + values["go_memstats_stack_sys_bytes"]) / (1 << 20)
	return now, err
}

// slope fits a line through the means of each minute, and returns its slope in MiB an hour with the
// standard error.
func slope(sizes []size, of func(size) float64) (growth, uncertain float64) {
	type point struct{ hours, mib float64 }
	var minutes []point
	for group := range slices.Chunk(sizes, int(time.Minute/soakEvery)) {
		minutes = append(minutes, point{mean(group, func(s size) float64 { return s.hours }), mean(group, of)})
	}
	var middle point
	for _, m := range minutes {
		middle.hours += m.hours / float64(len(minutes))
		middle.mib += m.mib / float64(len(minutes))
	}
	var along, square, off float64
	for _, m := range minutes {
		along += (m.hours - middle.hours) * (m.mib - middle.mib)
		square += (m.hours - middle.hours) * (m.hours - middle.hours)
	}
	growth = along / square
	for _, m := range minutes {
		residual := m.mib - middle.mib - growth*(m.hours-middle.hours)
		off += residual * residual
	}
	return growth, math.Sqrt(off / float64(len(minutes)-2) / square)
}

func mean(sizes []size, of func(size) float64) (mib float64) {
	for _, s := range sizes {
		mib += of(s) / float64(len(sizes))
	}
	return mib
}

// turnsByEnd returns the number of turns by how they ended.
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
