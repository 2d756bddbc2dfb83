package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"parley/internal/wire/webapi"
)

// usageCmd reports the tokens and cost of model calls.
type usageCmd struct {
	By     string `placeholder:"KEYS" default:"day" help:"What to group by, separated by commas: day, namespace, user, conversation, model, stage, turn; none for one sum."`
	From   string `placeholder:"TIME" help:"First day or time, such as 2026-11-01 or 2026-11-01T10:00:00Z."`
	To     string `placeholder:"TIME" help:"Last day, or the time before which calls count."`
	Format string `default:"table" enum:"table,json,csv" help:"Format of the report: table, json or csv."`
}

// Run reports on all callers, because the user can read the data folder anyway.
func (c usageCmd) Run(ctx context.Context, p *program) error {
	by := c.By
	if by == "none" {
		by = ""
	}
	q, err := webapi.ParseUsageQuery(by, c.From, c.To)
	if err != nil {
		return usagef("%w", err)
	}
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	db, err := p.openStore(ctx, p.config)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.State().Usage(ctx, q)
	if err != nil {
		return err
	}
	report := webapi.UsageReport{Query: q, Rows: rows}
	switch c.Format {
	case "csv":
		return report.WriteCSV(p.stdout)
	case "json":
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	return c.table(p, report)
}

func (usageCmd) table(p *program, report webapi.UsageReport) error {
	names, rows := report.Table()
	if len(rows) == 0 {
		_, err := fmt.Fprintln(p.stdout, "No model was called.")
		return err
	}
	t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(names, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}
