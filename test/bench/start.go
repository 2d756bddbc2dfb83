package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	startRounds = 15
	// settled is the wait before an idle server's size is measured.
	settled = 2 * time.Second
	// restTime is the wait until a busy server is idle again: it has then returned memory and
	// closed the connections to its database.
	restTime = 75 * time.Second
)

// start measures the time from the program's start to the first 200 on /readyz, its size then, and
// its size at rest after answers.
func (b *bench) start(ctx context.Context) error {
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	size, err := os.Stat(program)
	if err != nil {
		return err
	}
	empty, stored := sample{data: func(round int) string { return filepath.Join(b.work, fmt.Sprint("empty", round)) }}, sample{}
	samples := []*sample{&empty}
	p, err := b.passages(ctx)
	missing, absent := errors.AsType[*missingError](err)
	if err != nil && !absent {
		return err
	}
	if absent {
		fmt.Fprintf(os.Stderr, "skipped the start with stored chunks: %s\n", missing)
	} else {
		stored.data = func(int) string { return p.data }
		samples = append(samples, &stored)
	}
	for round := range startRounds {
		for _, s := range samples {
			if err := s.measure(ctx, b, round); err != nil {
				return err
			}
		}
	}
	b.add("start to ready, empty", "≤ 50 ms", "%.0f ms", ms(median(empty.ready)))
	b.add("resident size, empty", "≤ 40 MiB", "%.1f MiB", median(empty.resident))
	if !absent {
		with := fmt.Sprintf("%d chunks stored", p.stats.Chunks)
		b.add("start to ready, "+with, "≤ 300 ms at 15,000", "%.0f ms", ms(median(stored.ready)))
		b.add("resident size, "+with, "≤ 40 MiB", "%.1f MiB", median(stored.resident))
		after, answers, err := b.atRest(ctx, p)
		if err != nil {
			return err
		}
		b.add(fmt.Sprintf("resident size, idle after %d answers from them", answers), "≤ 40 MiB", "%.1f MiB", after)
	}
	b.add("size of the program", "", "%.1f MiB", float64(size.Size())/(1<<20))
	return nil
}

// sample is the measurements of starts on one kind of data folder.
type sample struct {
	data     func(round int) string
	ready    []time.Duration
	resident []float64 // MiB
}

func (s *sample) measure(ctx context.Context, b *bench, round int) error {
	server, took, err := b.parley(ctx, s.data(round))
	if err != nil {
		return err
	}
	defer server.stop()
	s.ready = append(s.ready, took)
	if round%5 > 0 { // the size varies less, and measuring it takes longer
		return nil
	}
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return ctx.Err()
	}
	mib, err := server.resident()
	s.resident = append(s.resident, mib)
	return err
}

// atRest asks the server every question twice, eight at a time, and returns its size after a rest,
// and the number of answers.
func (b *bench) atRest(ctx context.Context, p *passages) (mib float64, answers int, err error) {
	server, _, err := b.parley(ctx, p.data)
	if err != nil {
		return 0, 0, err
	}
	defer server.stop()
	questions := make(chan string)
	failed := make(chan error, 1)
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			for q := range questions {
				if err := ask(ctx, server.url("/chat"), q); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for range 2 {
		for _, q := range p.queries {
			questions <- q.Text
			answers++
		}
	}
	close(questions)
	askers.Wait()
	select {
	case err := <-failed:
		return 0, 0, err
	default:
	}
	select {
	case <-time.After(restTime):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	mib, err = server.resident()
	return mib, answers, err
}

// ask asks one question and reads the answer.
func ask(ctx context.Context, url, question string) error {
	body, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": question}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}
