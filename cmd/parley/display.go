package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"parley/internal/documents/ingest"
)

// display shows the progress of an ingestion or an embedding: a bar on a terminal, plain lines
// elsewhere. All other output to the same place must go through it, so that a log line never lands
// in the middle of the bar. Its methods may be called concurrently.
type display struct {
	w     io.Writer
	now   func() time.Time
	width int // columns of the terminal; 0 if w is not one

	mu     sync.Mutex
	shown  time.Time // when the bar or a line was last written
	latest moment
	bar    bool // the bar is on the last line of the terminal
	done   bool
}

// moment is the state that a display shows.
type moment struct {
	doing       string
	done, total int
	line        string
}

// Minimum time between two plain lines, and between two updates of the bar.
const (
	lineInterval = 5 * time.Second
	barInterval  = 100 * time.Millisecond
)

// newDisplay returns a display on w with a bar if w is a terminal, else with lines.
func newDisplay(w io.Writer, now func() time.Time) *display {
	return &display{w: w, now: now, shown: now(), width: terminalWidth(w)}
}

// Start resumes a display after Finish.
func (d *display) Start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown, d.done = d.now(), false
}

// Update shows the progress of an ingestion, unless something was shown too recently.
func (d *display) Update(p ingest.Progress) {
	d.show(func() moment { return moment{"ingesting", p.FilesDone, p.FilesTotal, progressLine(p)} })
}

// Embedded is Update for an embedding.
func (d *display) Embedded(p embedProgress) {
	d.show(func() moment {
		return moment{"embedding", p.report.Chunks, max(p.plan.Chunks, p.report.Chunks), p.String()}
	})
}

func (d *display) show(what func() moment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	interval := lineInterval
	if d.width > 0 {
		interval = barInterval
	}
	if d.done || now.Sub(d.shown) < interval {
		return
	}
	m := what()
	if m.total == 0 {
		return
	}
	d.latest, d.shown = m, now
	if d.width > 0 {
		d.drawBar()
		return
	}
	fmt.Fprintln(d.w, m.doing+": "+m.line)
}

// Write writes p above the bar.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	bar := d.bar
	d.removeBar()
	n, err := d.w.Write(p)
	if bar {
		d.drawBar()
	}
	return n, err
}

// Finish removes the bar. Later output is written unchanged.
func (d *display) Finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeBar()
	d.done = true
}

// eraseLine returns to the first column and clears the line (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

func (d *display) drawBar() {
	const cells = 10
	filled := cells * d.latest.done / d.latest.total
	text := "[" + strings.Repeat("#", filled) + strings.Repeat("-", cells-filled) + "] " + d.latest.line
	// A wrapped line could not be erased. Every character is one column wide.
	fmt.Fprint(d.w, eraseLine+text[:min(len(text), d.width-1)])
	d.bar = true
}

func (d *display) removeBar() {
	if d.bar {
		fmt.Fprint(d.w, eraseLine)
	}
	d.bar = false
}

// progressLine describes the progress of an ingestion.
func progressLine(p ingest.Progress) string {
	noun := "file"
	if p.Phase == ingest.Crawling {
		noun = "URL"
	}
	line := fmt.Sprintf("%d/%s, %s, %s", p.FilesDone, plural(p.FilesTotal, noun),
		plural(p.PagesDone, "page"), plural(p.ChunksDone, "chunk"))
	if p.Waiting > 0 {
		line += fmt.Sprintf(", %d waiting for the machine", p.Waiting)
	}
	if p.Rate > 0 {
		line += fmt.Sprintf(", %.1f pages/s", p.Rate)
	}
	if p.ETA > 0 {
		line += fmt.Sprintf(", %v left", max(p.ETA.Round(time.Second), time.Second))
	}
	return line
}

// plural returns n with a noun: "1 page", "2 pages".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
