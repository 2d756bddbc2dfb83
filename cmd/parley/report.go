package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/llm/price"
	"parley/internal/retrieval"
)

// failedTitle heads the files that should have given a document, partlyTitle the documents that
// lack a part of their text.
const (
	failedTitle = "Failed"
	partlyTitle = "Indexed only a part of"
)

// writeReport prints the result of an ingestion, with the reason for each file that gave no
// document.
func writeReport(w io.Writer, r ingest.Report) {
	parts := []string{
		fmt.Sprintf("Indexed %s (%s, %s) in %v", plural(r.Indexed+r.Updated, "document"),
			plural(r.Pages, "page"), plural(r.Chunks, "chunk"), rounded(r.Duration)),
	}
	if r.Updated > 0 {
		parts = append(parts, fmt.Sprintf("%d of them updated", r.Updated))
	}
	if r.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", r.Unchanged))
	}
	if r.Deleted > 0 {
		parts = append(parts, fmt.Sprintf("%d deleted", r.Deleted))
	}
	if r.Duplicates > 0 {
		parts = append(parts, fmt.Sprintf("%s led to the same pages", plural(r.Duplicates, "URL")))
	}
	fmt.Fprintln(w, strings.Join(parts, "; ")+".")
	writeElsewhere(w, r.Elsewhere)
	writeResults(w, partlyTitle, r.Partly)
	writeResults(w, "Skipped", r.Skipped)
	writeResults(w, failedTitle, r.Failed)
}

// writeEstimate prints what an ingestion would index, and its cost.
func writeEstimate(w io.Writer, r ingest.Report, plan retrieval.EmbedPlan, prices *price.Table) {
	fmt.Fprintf(w, "Would index %s (%s, %s); %d unchanged, %d would be deleted.\n", plural(r.Indexed+r.Updated, "document"),
		plural(r.Pages, "page"), plural(r.Chunks, "chunk"), r.Unchanged, r.Deleted)
	switch {
	case plan.Model == "":
		fmt.Fprintln(w, "Would embed nothing: no model is configured for it (setting embedding).")
	case plan.Chunks == 0:
		fmt.Fprintf(w, "Would embed nothing with %s: every chunk has its vector.\n", plan.Model)
	default:
		fmt.Fprintf(w, "Would embed %s.\n", planned(plan, prices))
	}
	writeElsewhere(w, r.Elsewhere)
	writeResults(w, "Could read only a part of", r.Partly)
	writeResults(w, "Would skip", r.Skipped)
	writeResults(w, "Could not read", r.Failed)
}

// writeElsewhere prints how many documents went to the namespaces that files name.
func writeElsewhere(w io.Writer, documents map[string]int) {
	if len(documents) > 0 {
		fmt.Fprintf(w, "In namespaces that files name: %s.\n", countIn(documents))
	}
}

// countIn lists the number of documents in each namespace.
func countIn(documents map[string]int) string {
	var parts []string
	for _, namespace := range slices.Sorted(maps.Keys(documents)) {
		parts = append(parts, fmt.Sprintf("%s in %s", plural(documents[namespace], "document"), namespace))
	}
	return strings.Join(parts, ", ")
}

// maxKnown is the maximum number of files of an earlier list that are listed again.
const maxKnown = 20

// writeResults lists files with their reasons. Of files that an earlier run listed already, it
// prints the number only, unless they are few and should have given a document.
func writeResults(w io.Writer, title string, results []ingest.FileResult) {
	var fresh, known []ingest.FileResult
	for _, f := range results {
		if f.Known {
			known = append(known, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	noun := "file"
	if !slices.ContainsFunc(results, func(f ingest.FileResult) bool { return !documents.IsURL(f.Path) }) {
		noun = "URL"
	}
	if len(known) > 0 {
		fmt.Fprintf(w, "%s %s as before; they have not changed.\n", title, plural(len(known), noun))
	}
	if len(known) <= maxKnown && (title == failedTitle || title == partlyTitle) {
		writeFiles(w, known)
	}
	if len(fresh) > 0 {
		fmt.Fprintf(w, "%s %s:\n", title, plural(len(fresh), noun))
		writeFiles(w, fresh)
	}
}

func writeFiles(w io.Writer, files []ingest.FileResult) {
	for _, f := range files {
		reason := ""
		if f.Reason != "" {
			reason = fmt.Sprintf(" (%s)", f.Reason)
		}
		fmt.Fprintf(w, "  %s%s: %s\n", f.Path, reason, f.Detail)
	}
}

// writeFormats prints for each format how many files were indexed, refused because they contain
// nothing to read, or failed, and the reasons.
func writeFormats(w io.Writer, formats map[string]map[string]int) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	total := formatLine{reasons: map[string]int{}}
	fmt.Fprintln(t, "format\tfiles\tindexed\tin part\topened\trefused\tfailed\t  reasons")
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		line := countFormat(formats[name])
		line.write(t, name)
		total.add(line)
	}
	total.write(t, "all")
	t.Flush()
}

// formatLine is a row of the table: the results for one format.
type formatLine struct {
	indexed, partly, opened, refused, failed int
	reasons                                  map[string]int
}

func countFormat(outcomes map[string]int) formatLine {
	line := formatLine{reasons: map[string]int{}}
	for outcome, n := range outcomes {
		switch {
		case outcome == ingest.OutcomeIndexed:
			line.indexed += n
		case outcome == ingest.OutcomePartly:
			line.partly += n
		case outcome == ingest.OutcomeOpened:
			line.opened += n
		case ingest.Refuses(extract.Reason(outcome)):
			line.refused += n
			line.reasons[outcome] += n
		default:
			line.failed += n
			line.reasons[outcome] += n
		}
	}
	return line
}

func (l *formatLine) add(o formatLine) {
	l.indexed += o.indexed
	l.partly += o.partly
	l.opened += o.opened
	l.refused += o.refused
	l.failed += o.failed
	for reason, n := range o.reasons {
		l.reasons[reason] += n
	}
}

func (l formatLine) write(w io.Writer, name string) {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(l.reasons)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, l.reasons[reason]))
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", name, l.indexed+l.opened+l.refused+l.failed,
		l.indexed, l.partly, l.opened, l.refused, l.failed, strings.Join(reasons, ", "))
}

// rounded rounds d to about three digits.
func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
