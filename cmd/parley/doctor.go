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
)

// doctorCmd checks whether the program can run here with these settings.
type doctorCmd struct {
	JSON bool     `name:"json" help:"Print the findings as one JSON object."`
	Idle duration `default:"0" placeholder:"TIME" help:"With a public URL, keep a connection idle for so long, for example 5m, to find time-outs of proxies. 0 leaves that out."`
}

// errUnhealthy ends a doctor command that found a problem.
var errUnhealthy = errors.New("something must be changed; see above")

// verdict is the result of a check.
type verdict string

const (
	fine    verdict = "ok"
	warned  verdict = "warning" // it works, but may not for long
	broken  verdict = "problem"
	skipped verdict = "skipped" // there is nothing to check
)

// finding is what a check found; programs rely on its keys.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Remedy  string  `json:"remedy,omitempty"` // what to do; "" if nothing
}

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
	checks := []check{
		{"data folder", checkDataFolder},
		{"disk", checkDisk},
		{"databases", checkDatabases},
		{"vectors", checkVectors},
		{"models", checkModels},
		{"clock", checkClock},
		{"open files", checkOpenFiles},
		{"memory", checkMemory},
		{"isolation", checkIsolation},
		{"text recognition", checkRecognition},
		{"public URL", checkPublicURL},
		{"idle connections", func(ctx context.Context, p *program) []finding { return checkIdle(ctx, p, time.Duration(c.Idle)) }},
	}
	found := make([][]finding, len(checks))
	var running sync.WaitGroup
	for i, check := range checks {
		running.Go(func() { found[i] = check.run(ctx, p) })
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	report := doctorReport{OK: true, Version: release, Findings: []finding{}}
	for i, check := range checks {
		for _, f := range found[i] {
			f.Check = check.name
			report.Findings = append(report.Findings, f)
			report.OK = report.OK && f.Verdict != broken
		}
	}
	if err := report.print(p.stdout, c.JSON); err != nil {
		return fmt.Errorf("print the findings: %w", err)
	}
	if !report.OK {
		return errUnhealthy
	}
	return nil
}

type doctorReport struct {
	OK       bool      `json:"ok"` // no finding is a problem
	Version  string    `json:"parley"`
	Findings []finding `json:"findings"`
}

func (r doctorReport) print(w io.Writer, asJSON bool) error {
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

func found(v verdict, remedy, format string, args ...any) []finding {
	return []finding{{Verdict: v, Found: fmt.Sprintf(format, args...), Remedy: remedy}}
}
