package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const ingestRounds = 5

// ingest measures the ingestion of the Northwind PDF files from the start of the program to its
// end: extraction in child processes, splitting, indexing and commits. It compares that with
// pdftotext, which converts the same files one after the other.
func (b *bench) ingest(ctx context.Context) error {
	files, err := b.northwind()
	if err != nil {
		return err
	}
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	pages, _, err := pdftotext(ctx, files)
	if err != nil {
		return err
	}
	cache := filepath.Join(b.work, "cache")
	var own, other []cost
	var first time.Duration
	for round := range ingestRounds + 1 {
		data := filepath.Join(b.work, fmt.Sprint("ingest", round))
		if round > 0 {
			if err := os.CopyFS(filepath.Join(data, "cache"), os.DirFS(cache)); err != nil {
				return fmt.Errorf("copy the compiled parser: %w", err)
			}
		}
		took, err := consume(exec.CommandContext(ctx, program, append([]string{"ingest", "--data", data}, files...)...))
		if err != nil {
			return err
		}
		if round == 0 { // the first round compiles PDFium, once for a data folder
			first = took.wall
			if err := os.Rename(filepath.Join(data, "cache"), cache); err != nil {
				return fmt.Errorf("keep the compiled parser: %w", err)
			}
			continue
		}
		own = append(own, took)
		_, took, err = pdftotext(ctx, files)
		if err != nil {
			return err
		}
		other = append(other, took)
	}
	mine, theirs := medianCost(own), medianCost(other)
	rate := func(c cost) float64 { return float64(pages) / c.wall.Seconds() }
	perPage := func(c cost) float64 { return ms(c.cpu) / float64(pages) }
	b.add(fmt.Sprintf("ingestion of %d PDF files, %d pages", len(files), pages), "beside pdftotext",
		"%.0f pages/s (pdftotext alone: %.0f)", rate(mine), rate(theirs))
	b.add("CPU for a page", "", "%.1f ms (pdftotext alone: %.1f ms)", perPage(mine), perPage(theirs))
	b.add("the first ingestion of a data folder, which compiles PDFium", "", "%.1f s", first.Seconds())
	return nil
}

// northwind returns the paths of the PDF files.
func (b *bench) northwind() ([]string, error) {
	dir, err := b.sharedPath("data", "northwind", "pdf")
	if err != nil {
		return nil, err
	}
	var files []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.EqualFold(filepath.Ext(path), ".pdf") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the PDF files: %w", err)
	}
	return files, nil
}

// cost is the time of a command; cpu includes its children.
type cost struct{ wall, cpu time.Duration }

func (c cost) plus(d cost) cost { return cost{c.wall + d.wall, c.cpu + d.cpu} }

// medianCost returns the median of each field.
func medianCost(all []cost) cost {
	var wall, cpu []time.Duration
	for _, c := range all {
		wall, cpu = append(wall, c.wall), append(cpu, c.cpu)
	}
	return cost{median(wall), median(cpu)}
}

// consume runs a command to its end and returns its cost.
func consume(cmd *exec.Cmd) (cost, error) {
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return cost{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// pdftotext converts files to text and returns the number of their pages.
func pdftotext(ctx context.Context, files []string) (pages int, sum cost, err error) {
	program, err := exec.LookPath("pdftotext")
	if err != nil {
		return 0, cost{}, &missingError{"pdftotext is missing (Debian: apt-get install poppler-utils)"}
	}
	for _, f := range files {
		cmd := exec.CommandContext(ctx, program, f, "-")
		var out pageCounter
		cmd.Stdout = &out
		took, err := consume(cmd)
		if err != nil {
			return 0, cost{}, err
		}
		pages, sum = pages+int(out), sum.plus(took)
	}
	return pages, sum, nil
}

// pageCounter counts the form feeds written to it: pdftotext ends every page with one.
type pageCounter int

func (n *pageCounter) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == '\f' {
			*n++
		}
	}
	return len(b), nil
}
