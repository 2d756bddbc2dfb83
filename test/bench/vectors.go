package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// vectors measures exact searches among 100,000 vectors by running their benchmark, with SIMD if
// this processor has it, and without.
func (b *bench) vectors(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkSearch$", "-benchtime", "200x", "./internal/vector")
	cmd.Dir = b.root
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("run the benchmark: %w: %s", err, exit.Stderr)
		}
		return fmt.Errorf("run the benchmark: %w", err)
	}
	for _, dimensions := range []int{384, 1536} {
		name := fmt.Sprintf("BenchmarkSearch/dimensions=%d/simd=", dimensions)
		plain, ok := metrics(string(out), name+"false")
		if !ok {
			return fmt.Errorf("the benchmark did not measure %d dimensions", dimensions)
		}
		what := fmt.Sprintf("exact search, 100,000 × %d vectors", dimensions)
		fast, ok := metrics(string(out), name+"true")
		if !ok {
			fast = plain
		}
		b.add(what+", p50 / p99", "recall 1", "%.1f / %.1f ms (without SIMD: %.1f × p50)",
			fast["p50-µs"]/1000, fast["p99-µs"]/1000, plain["p50-µs"]/fast["p50-µs"])
		b.add(fmt.Sprintf("memory of 100,000 × %d vectors", dimensions), "", "%.0f MiB (%.3f × 4 bytes a number)",
			fast["heap-MiB"], fast["heap-MiB"]*(1<<20)/(4*100_000*float64(dimensions)))
	}
	return nil
}

// pgvector measures searches of vectors in PostgreSQL beside the exact ones by running their benchmark, which needs a PostgreSQL with
// pgvector: the one whose programs are in the folder PARLEY_TEST_PGVECTOR, else that of the machine.
func (b *bench) pgvector(ctx context.Context) error {
	program := filepath.Join(b.work, "store.test") // go test would mix what it says of its progress with its results
	if err := runGo(ctx, b.root, "test", "-c", "-o", program, "./internal/store"); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", "^BenchmarkVectorIndex$", "-test.benchtime", "1x")
	cmd.Dir, cmd.Stderr = filepath.Join(b.root, "internal", "store"), os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprint("PARLEY_BENCH_VECTORS=", b.vectorCount))
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("run the benchmark: %w: %s", err, out)
	}
	found, ok := metrics(string(out), "BenchmarkVectorIndex")
	if !ok {
		return &missingError{"PostgreSQL with pgvector 0.8 or later is missing (PARLEY_TEST_PGVECTOR names the folder of its programs)"}
	}
	b.command = fmt.Sprintf("PARLEY_TEST_PGVECTOR=… go run ./test/bench pgvector -vectors %d", b.vectorCount)
	what := fmt.Sprintf("%d × 384 vectors in pgvector, ", b.vectorCount)
	b.add(what+"stored, indexed", "", "%.0f s, %.0f s", found["stored-s"], found["indexed-s"])
	for _, c := range []struct{ key, name string }{{"all", "no filter"}, {"fifth", "a filter that leaves a fifth"}, {"few", "a filter that leaves a hundredth"}} {
		b.add(what+c.name+": recall of the ten best, p50 / p99", "", "%.3f, %.1f / %.1f ms (exact search in memory %.1f ms)",
			found[c.key+"-recall"], found[c.key+"-p50-ms"], found[c.key+"-p99-ms"], found[c.key+"-exact-p50-ms"])
	}
	return nil
}

// metrics returns the metrics of a benchmark by unit.
func metrics(output, name string) (map[string]float64, bool) {
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != name && !strings.HasPrefix(fields[0], name+"-") { // -8 is GOMAXPROCS
			continue
		}
		values := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[fields[i+1]] = v
			}
		}
		return values, true
	}
	return nil, false
}
