package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	stepRounds = 7
	stepTurns  = 300 // turns in a round
)

// steps measures the processor time that streaming the processing steps of a turn to an observer
// adds. It runs the same turns with all steps and with the last two only, in alternating rounds.
// The built-in answerer keeps the rest of the turn cheap.
func (b *bench) steps(ctx context.Context) error {
	if _, err := b.build(ctx); err != nil {
		return err
	}
	data := filepath.Join(b.work, "steps")
	if _, err := consume(exec.CommandContext(ctx, b.program, "ingest", "--data", data, filepath.Join(b.root, "docs"))); err != nil {
		return err
	}
	s, _, err := b.parley(ctx, data)
	if err != nil {
		return err
	}
	defer s.stop()
	ids := 0
	measure := func(show bool) (perTurn float64, err error) {
		before, err := s.processor()
		if err != nil {
			return 0, err
		}
		for range stepTurns {
			ids++
			if err := watched(ctx, s, fmt.Sprint("q", ids), show); err != nil {
				return 0, err
			}
		}
		after, err := s.processor()
		return 1e6 * (after - before) / stepTurns, err
	}
	if _, err := measure(true); err != nil { // warm-up
		return err
	}
	var with, without, added []float64
	for range stepRounds {
		shown, err := measure(true)
		if err != nil {
			return err
		}
		hidden, err := measure(false)
		if err != nil {
			return err
		}
		with, without = append(with, shown), append(without, hidden)
		added = append(added, 100*(shown-hidden)/hidden)
	}
	b.add("processor time that stage events add to a turn", "≤ 5 %", "%.1f %% (%.0f µs with all steps, %.0f µs with the last two)",
		median(added), median(with), median(without))
	return nil
}

// watched asks a question while its steps are streamed, and waits for the end of both.
func watched(ctx context.Context, s *server, id string, show bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url("/chat/stream/stages?query_id="+id), nil)
	if err != nil {
		return err
	}
	steps, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("watch the steps: %w", err)
	}
	defer steps.Body.Close()
	lines := bufio.NewReader(steps.Body)
	if first, err := lines.ReadString('\n'); err != nil || !strings.Contains(first, "_connected") {
		return fmt.Errorf("the steps begin with %q: %w", first, err)
	}
	body, err := json.Marshal(map[string]any{
		"message": "Which file formats can Parley read?", "params": map[string]any{"query_id": id, "show_processing_steps": show},
	})
	if err != nil {
		return err
	}
	if req, err = http.NewRequestWithContext(ctx, http.MethodPost, s.url("/chat"), bytes.NewReader(body)); err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the answer has status %s", answer.Status), err)
	}
	rest, err := io.ReadAll(lines)
	if n := strings.Count(string(rest), "data: "); err == nil && (show && n < 6 || !show && n != 2) {
		return fmt.Errorf("%d steps came with show_processing_steps %v: %s", n, show, rest)
	}
	return err
}

// ticks is the number of clock ticks per second in /proc on Linux.
const ticks = 100

// processor returns the processor time of the process in seconds.
func (s *server) processor() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid()))
	if err != nil {
		return 0, &missingError{"the processor time of a process cannot be read here"}
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const user, system = 11, 12 // fields 14 and 15 of proc(5), counted after the name
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", s.pid(), len(fields))
	}
	sum := 0.0
	for _, i := range []int{user, system} {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/%d/stat: %w", s.pid(), err)
		}
		sum += n / ticks
	}
	return sum, nil
}
