package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// A question about the repository's documentation, which is the corpus.
const (
	question      = `{"messages":[{"role":"user","content":"Which file formats can Parley read?"}],"stream":true}`
	questionWhole = `{"messages":[{"role":"user","content":"Which file formats can Parley read?"}]}`
)

// load is one way to load the servers.
type load struct {
	name    string
	stub    string // options of the upstream: number and speed of tokens
	clients int
	answers int // in one round
	rounds  int

	mode, body string   // options of loadgen; NDJSON and a streamed question by default
	paths      []string // paths of the endpoints; their own if nil
	warmup     string   // number of requests; 5 by default
	flags      []string // further flags of loadgen
	durable    bool     // also load the floor that commits
	beside     bool     // load the floor again at the same time as each endpoint, since what a wake-up costs depends on the machine's load
	also       []endpoint
}

// endpoint is where a load goes. Mode and body are the load's where they are empty.
type endpoint struct{ version, path, mode, body, mark string }

var (
	// Tokens as fast as possible: measures the work for each.
	fast = load{name: "400 tokens as fast as they come", stub: "chunks=400,tps=0", clients: 4, answers: 200, rounds: 7, also: later}
	// Tokens at the pace of a model: measures waking up for each.
	paced = load{name: "32 streams of 150 tokens at 50 a second", stub: "chunks=150,tps=50", clients: 32, answers: 96, rounds: 3, also: later, beside: true}
	// One client, so that a request waits for its own work only.
	alone = load{name: "one client", stub: "chunks=10,tps=0", clients: 1, answers: 300, rounds: 7}
)

// endpoints are the two protocol versions.
var endpoints = []endpoint{
	{version: "2024-05-29", path: "/chat/stream"},
	{version: "2024-01-28", path: "/chat"},
}

// later are the protocols of later clients. The mark tells a piece of the answer from other lines that hold its text: the samples'
// lines for front ends before April 2026, and the last events of the Responses API.
var later = []endpoint{
	{version: "samples since April 2026", path: "/chat/stream", mark: `"delta":".?tok\d`,
		body: `{"input":"Which file formats can Parley read?"}`},
	{version: "On Your Data, front end", path: "/conversation", body: questionWhole},
	{version: "On Your Data, service", path: "/openai/deployments/any/chat/completions", mode: "sse", mark: `"content":".?tok\d`,
		body: `{"messages":[{"role":"user","content":"Which file formats can Parley read?"}],"stream":true,"data_sources":[{"type":"azure_search","parameters":{}}]}`},
	{version: "Chat Completions", path: "/v1/chat/completions", mode: "sse", mark: `"content":".?tok\d`,
		body: `{"model":"parley","messages":[{"role":"user","content":"Which file formats can Parley read?"}],"stream":true}`},
	{version: "Responses", path: "/v1/responses", mode: "sse", mark: `"delta":".?tok\d`,
		body: `{"model":"parley","input":"Which file formats can Parley read?","stream":true}`},
	{version: "AI SDK", path: "/api/chat", mode: "sse", mark: `"delta":".?tok\d`,
		body: `{"trigger":"submit-message","messages":[{"role":"user","parts":[{"type":"text","text":"Which file formats can Parley read?"}]}]}`},
	{version: "AG-UI", path: "/ag-ui", mode: "sse", mark: `"delta":".?tok\d`,
		body: `{"messages":[{"role":"user","content":"Which file formats can Parley read?"}]}`},
}

// stream compares the cost of streaming an upstream's answer with the floor: the minimum that a Go
// server needs to translate it. Both use the same upstream, in alternating rounds.
func (b *bench) stream(ctx context.Context) error {
	all := append(slices.Clone(endpoints), later...)
	for _, l := range []load{fast, paced} {
		rounds, err := b.drive(ctx, l)
		if err != nil {
			return err
		}
		if l.name == fast.name {
			if err := b.beyond(ctx, rounds, all); err != nil {
				return err
			}
		}
		for i, e := range all {
			var ratio, own, floor []float64
			for _, r := range rounds {
				least := r.floor.Server.PerToken
				if l.beside {
					least = r.beside[i].Server.PerToken
				}
				own, floor = append(own, r.parley[i].Server.PerToken), append(floor, least)
				ratio = append(ratio, r.parley[i].Server.PerToken/least)
			}
			b.add(fmt.Sprintf("CPU per streamed token, %s, %s", e.version, l.name), "ratio to the floor",
				"%.2f × floor (%.1f µs / %.1f µs)", median(ratio), median(own), median(floor))
		}
	}
	rounds, err := b.drive(ctx, alone)
	if err != nil {
		return err
	}
	for i, e := range endpoints {
		var added, late, floor, search []float64
		for _, r := range rounds {
			added = append(added, r.parley[i].FirstToken.P50-r.floor.FirstToken.P50-r.search[i])
			late = append(late, r.parley[i].FirstToken.P99-r.floor.FirstToken.P99-r.search[i])
			floor = append(floor, r.floor.FirstToken.P50)
			search = append(search, r.search[i])
		}
		b.add("time to the first token added beyond the search, "+e.version+", p50", "",
			"%.2f ms (floor %.2f ms, search %.2f ms)", median(added), median(floor), median(search))
		b.add("the same, "+e.version+", p99", "", "%.2f ms", median(late))
	}
	return nil
}

// beyond separates the cost of a token from that of its answer, which the floor neither searches for nor saves: it compares the rounds
// of the load fast with the same load of short answers.
func (b *bench) beyond(ctx context.Context, long []round, all []endpoint) error {
	const tokens, few = 400, 40
	l := fast
	l.stub = fmt.Sprintf("chunks=%d,tps=0", few)
	short, err := b.drive(ctx, l)
	if err != nil {
		return err
	}
	token := func(of func(round) report) float64 {
		var many, less []float64
		for i := range long {
			many, less = append(many, of(long[i]).Server.PerRequest), append(less, of(short[i]).Server.PerRequest)
		}
		return (median(many) - median(less)) / (tokens - few)
	}
	floor := token(func(r round) report { return r.floor })
	for i, e := range all {
		own := token(func(r round) report { return r.parley[i] })
		b.add("the same beyond the cost of its answer, "+e.version, "ratio to the floor", "%.2f × floor (%.1f µs / %.1f µs)", own/floor, own, floor)
	}
	return nil
}

// report is the part of loadgen's report that is used.
type report struct {
	OK         int            `json:"ok"`
	Errors     map[string]int `json:"errors"`
	FirstToken quantiles      `json:"ttft_ms"`
	Transit    quantiles      `json:"transit_ms"`
	Server     struct {
		PerToken   float64 `json:"cpu_us_per_token"`
		PerRequest float64 `json:"cpu_us_per_req"`
		Before     float64 `json:"rss0_mib"`
		Peak       float64 `json:"rss_peak_mib"`
	} `json:"server"`
}

// quantiles are in ms.
type quantiles struct{ P50, P99 float64 }

// round is the result of one round; parley, beside and search are by endpoint.
type round struct {
	floor   report
	beside  []report // of the floor, if requested
	durable report   // if requested
	parley  []report
	search  []float64 // means in ms
}

// drive starts upstream, floor and program, and loads the latter two alternately.
func (b *bench) drive(ctx context.Context, l load) ([]round, error) {
	upstream, err := b.tooling(ctx, "stubllm", func(addr string) (env, args []string) {
		return nil, []string{"-addr", addr}
	})
	if err != nil {
		return nil, err
	}
	defer upstream.stop()
	base := upstream.url("/s/" + l.stub)
	floor, err := b.tooling(ctx, "floor", func(addr string) (env, args []string) {
		return []string{"ADDR=" + addr, "UPSTREAM=" + base}, nil
	})
	if err != nil {
		return nil, err
	}
	defer floor.stop()
	var durable *server
	if l.durable {
		if durable, err = b.durableFloor(ctx, base); err != nil {
			return nil, err
		}
		defer durable.stop()
	}
	data := filepath.Join(b.work, "stream-"+strconv.Itoa(l.clients))
	if _, err := consume(exec.CommandContext(ctx, b.program, "ingest", "--data", data, filepath.Join(b.root, "docs"))); err != nil {
		return nil, err
	}
	own, _, err := b.parley(ctx, data, "--model", "openai:stub", "--openai-base-url", base+"/v1",
		"--limits-max-concurrent", "10000")
	if err != nil {
		return nil, err
	}
	defer own.stop()
	var all []round
	for range l.rounds {
		r, err := b.round(ctx, l, floor, durable, own)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// round loads each server once; durable may be nil.
func (b *bench) round(ctx context.Context, l load, floor, durable, own *server) (r round, err error) {
	if r.floor, err = b.loadgen(ctx, l, floor, "/"); err != nil {
		return r, err
	}
	if durable != nil {
		if r.durable, err = b.loadgen(ctx, l, durable, "/"); err != nil {
			return r, err
		}
	}
	for i, e := range append(slices.Clone(endpoints), l.also...) {
		path, to := e.path, l
		if l.paths != nil {
			path = l.paths[i]
		}
		to.mode, to.body = cmp.Or(e.mode, l.mode), cmp.Or(e.body, l.body)
		if e.mark != "" {
			to.flags = append(slices.Clone(l.flags), "-mark", e.mark)
		}
		before, err := retrieved(ctx, own)
		if err != nil {
			return r, err
		}
		beside := make(chan error, 1)
		if l.beside {
			r.beside = append(r.beside, report{})
			go func() {
				var err error
				r.beside[i], err = b.loadgen(ctx, l, floor, "/")
				beside <- err
			}()
		} else {
			beside <- nil
		}
		rep, err := b.loadgen(ctx, to, own, path)
		if err := errors.Join(err, <-beside); err != nil {
			return r, err
		}
		after, err := retrieved(ctx, own)
		if err != nil {
			return r, err
		}
		r.parley = append(r.parley, rep)
		r.search = append(r.search, 1e3*(after.seconds-before.seconds)/max(1, after.searches-before.searches))
	}
	return r, nil
}

// durableFloor starts the floor that commits.
func (b *bench) durableFloor(ctx context.Context, upstream string) (*server, error) {
	program := filepath.Join(b.work, "durablefloor")
	if err := runGo(ctx, b.root, "build", "-o", program, "./test/bench/durablefloor"); err != nil {
		return nil, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, addr, nil, program, "-addr", addr, "-upstream", upstream, "-data", filepath.Join(b.work, "durablefloor.db"))
	if err != nil {
		return nil, err
	}
	if err := s.listening(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// tooling starts a server from the folder shared.
func (b *bench) tooling(ctx context.Context, name string, flags func(addr string) (env, args []string)) (*server, error) {
	program, err := b.tool(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := b.build(ctx); err != nil {
		return nil, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	env, args := flags(addr)
	s, err := serve(ctx, addr, env, program, args...)
	if err != nil {
		return nil, err
	}
	if err := s.listening(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// loadgen loads one server and returns the report.
func (b *bench) loadgen(ctx context.Context, l load, s *server, path string) (rep report, err error) {
	program, err := b.tool(ctx, "loadgen")
	if err != nil {
		return rep, err
	}
	args := append([]string{"-url", s.url(path), "-pid", strconv.Itoa(s.pid()), "-mode", cmp.Or(l.mode, "ndjson"),
		"-c", strconv.Itoa(l.clients), "-n", strconv.Itoa(l.answers), "-warmup", cmp.Or(l.warmup, "5"),
		"-body", cmp.Or(l.body, question)}, l.flags...)
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return rep, fmt.Errorf("load %s: %w", s.cmd.Path, err)
	}
	if err := json.Unmarshal(out, &rep); err != nil {
		return rep, fmt.Errorf("read the report of loadgen: %w", err)
	}
	if rep.OK != l.answers {
		return rep, fmt.Errorf("%s answered %d of %d: %v", s.cmd.Path, rep.OK, l.answers, rep.Errors)
	}
	return rep, nil
}

// stageTime is the program's metrics of its searches so far.
type stageTime struct{ seconds, searches float64 }

// retrieved reads the time of the stage retrieve, which is the search.
func retrieved(ctx context.Context, s *server) (t stageTime, err error) {
	values, err := s.metrics(ctx)
	const series = `parley_stage_duration_seconds_%s{stage="retrieve"}`
	return stageTime{values[fmt.Sprintf(series, "sum")], values[fmt.Sprintf(series, "count")]}, err
}
