package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"parley/internal/text"
	"parley/internal/wire/adminapi"
)

// doctorCmd checks whether the program can run here with these settings.
type doctorCmd struct {
	JSON bool     `name:"json" help:"Print the findings as one JSON object."`
	Idle duration `default:"0" placeholder:"TIME" help:"With a public URL, keep a connection idle for so long, for example 5m, to find time-outs of proxies. 0 leaves that out."`
}

// errUnhealthy ends a doctor command that found a problem.
var errUnhealthy = errors.New("something must be changed; see above")

// finding, verdict and their values are those of the administrators' API.
type (
	finding      = adminapi.Finding
	verdict      = adminapi.Verdict
	doctorReport = adminapi.Report
)

const (
	fine    = adminapi.Fine
	warned  = adminapi.Warned
	broken  = adminapi.Broken
	skipped = adminapi.Skipped
)

// check is one check of doctor. It may have several findings.
type check struct {
	name string
	run  func(ctx context.Context, p *program) []finding
}

// checkTime limits each check except those of the databases and of idle connections.
const checkTime = 15 * time.Second

// Run runs all checks at once and prints their findings in order. It exits with 1 if one is a
// problem.
func (c doctorCmd) Run(ctx context.Context, p *program) error {
	report, err := p.examine(ctx, time.Duration(c.Idle))
	if err != nil {
		return err
	}
	if err := printReport(p.stdout, report, c.JSON); err != nil {
		return fmt.Errorf("print the findings: %w", err)
	}
	if !report.OK {
		return errUnhealthy
	}
	return nil
}

// examine runs all checks at once. idle is how long it keeps a connection idle.
func (p *program) examine(ctx context.Context, idle time.Duration) (doctorReport, error) {
	checks := []check{
		{"data folder", checkDataFolder},
		{"disk", checkDisk},
		{"databases", checkDatabases},
		{"vectors", checkVectors},
		{"pgvector", checkVectorIndex},
		{"models", checkModels},
		{"MCP servers", checkMCP},
		{"clock", checkClock},
		{"open files", checkOpenFiles},
		{"memory", checkMemory},
		{"isolation", checkIsolation},
		{"text recognition", checkRecognition},
		{"public URL", checkPublicURL},
		{"idle connections", func(ctx context.Context, p *program) []finding { return checkIdle(ctx, p, idle) }},
	}
	found := make([][]finding, len(checks))
	var running sync.WaitGroup
	for i, check := range checks {
		running.Go(func() { found[i] = check.run(ctx, p) })
	}
	running.Wait()
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return doctorReport{}, err
	}
	report := doctorReport{OK: true, Version: release, Findings: []finding{}}
	for i, check := range checks {
		for _, f := range found[i] {
			f.Check = check.name
			report.Findings = append(report.Findings, f)
			report.OK = report.OK && f.Verdict != broken
		}
	}
	return report, nil
}

// examine checks the machine and the settings of a running server, with the databases that it has open.
func (s *serving) examine(ctx context.Context) (doctorReport, error) {
	p := *s.program
	p.stored = s.db
	return p.examine(ctx, 0)
}

func printReport(w io.Writer, r doctorReport, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%-8s %s: %s", f.Verdict, f.Check, f.Found)
		if f.Remedy != "" {
			line += "\n         → " + f.Remedy
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// maxFound is the maximum length in characters of a finding's text.
const maxFound = 1000

func found(v verdict, remedy, format string, args ...any) []finding {
	told := text.OneLine(fmt.Sprintf(format, args...)) // the words of another server may be in it
	if all := []rune(told); len(all) > maxFound {
		told = string(all[:maxFound]) + "…"
	}
	return []finding{{Verdict: v, Found: told, Remedy: remedy}}
}
