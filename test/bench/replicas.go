package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/lexical/lexicaltest"
)

const (
	replicaMost    = 3
	replicaClients = 12 // divided among the servers
	replicaTime    = "6s"
	replicaRounds  = 5
	joinRounds     = 3
)

// replicas compares one, two and three servers on a PostgreSQL database with one on a data folder, in alternating rounds. All of
// them answer questions about the repository's documentation with the built-in model.
func (b *bench) replicas(ctx context.Context) error {
	if b.database == "" {
		return &missingError{"-database does not name an empty PostgreSQL database"}
	}
	if _, err := b.build(ctx); err != nil {
		return err
	}
	alone := filepath.Join(b.work, "alone")
	var all []*server
	defer func() {
		for _, s := range all {
			s.stop()
		}
	}()
	for i := range replicaMost + 1 {
		data, on := filepath.Join(b.work, fmt.Sprint("replica", i)), b.onDatabase()
		if i == 0 {
			data, on = alone, nil
		}
		if i <= 1 {
			ingest := append([]string{"ingest", "--data", data, filepath.Join(b.root, "docs")}, on...)
			if _, err := consume(exec.CommandContext(ctx, b.program, ingest...)); err != nil {
				return err
			}
		}
		s, _, err := b.parley(ctx, data, on...)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	kinds := [][]*server{all[:1]} // the first is on the data folder
	for n := 1; n <= replicaMost; n++ {
		kinds = append(kinds, all[1:1+n])
	}
	var rates, slowest, cpu [replicaMost + 1][]float64
	var ratio []float64
	for range replicaRounds {
		for i, servers := range kinds {
			t, err := b.together(ctx, servers)
			if err != nil {
				return err
			}
			rates[i], slowest[i], cpu[i] = append(rates[i], t.rate), append(slowest[i], t.p99), append(cpu[i], t.cpu)
		}
		last := len(cpu[0]) - 1
		ratio = append(ratio, cpu[1][last]/cpu[0][last])
	}
	for i := range kinds {
		name := "a data folder (SQLite)"
		if i > 0 {
			name = fmt.Sprintf("PostgreSQL, %d of %d servers", i, replicaMost)
		}
		b.add(fmt.Sprintf("built-in answers, %d clients, %s", replicaClients, name), "", "%.0f turns/s, p99 %.0f ms, CPU of the servers %.1f ms a turn",
			median(rates[i]), median(slowest[i]), median(cpu[i])/1000)
	}
	b.add("CPU a turn of one server on PostgreSQL, without the database's", "≤ 1.3 × SQLite's", "%.2f × SQLite's", median(ratio))
	return nil
}

// onDatabase returns the flags for the database that was named, or none.
func (b *bench) onDatabase() []string {
	if b.database == "" {
		return nil
	}
	return []string{"--database", b.database}
}

// throughput is the combined result of some servers.
type throughput struct {
	rate float64 // turns a second
	p99  float64 // ms, the worst server's
	cpu  float64 // µs a turn
}

// together loads some servers at the same time with as many clients in all.
func (b *bench) together(ctx context.Context, servers []*server) (t throughput, err error) {
	program, err := b.tool(ctx, "loadgen")
	if err != nil {
		return t, err
	}
	type report struct {
		OK     int            `json:"ok"`
		Errors map[string]int `json:"errors"`
		Rate   float64        `json:"rps"`
		Total  quantiles      `json:"total_ms"`
		Server struct {
			CPU float64 `json:"cpu_s"`
		} `json:"server"`
	}
	reports, failed := make([]report, len(servers)), make([]error, len(servers))
	var loading sync.WaitGroup
	for i, s := range servers {
		loading.Go(func() {
			load := exec.CommandContext(ctx, program, "-url", s.url(endpoints[0].path), "-pid", strconv.Itoa(s.pid()), "-mode", "json", "-body", question,
				"-c", strconv.Itoa(replicaClients/len(servers)), "-n", "0", "-d", replicaTime, "-warmup", "20")
			out, err := load.Output()
			if err == nil {
				err = json.Unmarshal(out, &reports[i])
			}
			if err == nil && len(reports[i].Errors) > 0 {
				err = fmt.Errorf("%v", reports[i].Errors)
			}
			failed[i] = err
		})
	}
	loading.Wait()
	if err := errors.Join(failed...); err != nil {
		return t, fmt.Errorf("load %d servers: %w", len(servers), err)
	}
	turns, spent := 0, 0.0
	for _, r := range reports {
		t.rate, t.p99 = t.rate+r.Rate, max(t.p99, r.Total.P99)
		turns, spent = turns+r.OK, spent+r.Server.CPU
	}
	t.cpu = 1e6 * spent / float64(turns)
	return t, nil
}

// join measures how long a server takes from its start until it is ready and has answered a first question, with a corpus of generated
// text in PostgreSQL: without anything on its disk, and with what an earlier start has left there.
func (b *bench) join(ctx context.Context) error {
	if b.database == "" {
		return &missingError{"-database does not name a PostgreSQL database that is empty, or that an earlier run has filled"}
	}
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(b.sizes, ",")
	n, err := strconv.Atoi(first)
	if err != nil || n < scaleDocument {
		return fmt.Errorf("-passages wants a number of at least %d, not %q", scaleDocument, first)
	}
	dir := filepath.Join(cmp.Or(b.keep, b.work), fmt.Sprintf("join-%d", n))
	c := &generatedCorpus{folder: filepath.Join(dir, "documents")}
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err != nil {
		if err := c.write(ctx, n); err != nil {
			return fmt.Errorf("generate documents: %w", err)
		}
		ingest := append([]string{"ingest", "--data", filepath.Join(b.work, "writer"), c.folder}, b.onDatabase()...)
		took, err := consume(exec.CommandContext(ctx, program, ingest...))
		if err != nil {
			return err
		}
		b.add(fmt.Sprintf("%d passages ingested into PostgreSQL", n), "", "%.0f passages/s (CPU of the program %.0f s)", float64(n)/took.wall.Seconds(), took.cpu.Seconds())
		if err := os.WriteFile(complete, nil, 0o600); err != nil {
			return err
		}
	}
	var ready, answered [2][]time.Duration // cold, and with files
	for round := range joinRounds {
		data := filepath.Join(b.work, fmt.Sprint("joined", round))
		for i := range ready {
			s, took, err := b.parley(ctx, data, b.onDatabase()...)
			if err != nil {
				return err
			}
			began := time.Now()
			err = ask(ctx, s.url("/chat"), lexicaltest.New(3).LastTurn())
			s.stop()
			if err != nil {
				return err
			}
			ready[i], answered[i] = append(ready[i], took), append(answered[i], took+time.Since(began))
		}
	}
	for i, name := range []string{"with an empty disk", "with the index on its disk"} {
		b.add(fmt.Sprintf("a server joins %d passages in PostgreSQL, %s: ready / first answer", n, name), "", "%.1f / %.1f s", median(ready[i]).Seconds(), median(answered[i]).Seconds())
	}
	return nil
}
