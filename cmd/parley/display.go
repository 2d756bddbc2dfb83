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
// elsewhere. It is also the writer for everything else that goes to the same place meanwhile, so that
// a log line never lands in the middle of the bar. Its methods may be called concurrently.
type display struct {
	w     io.Writer
	now   func() time.Time
	width int // of the terminal in columns; 0 where w is none

	mu     sync.Mutex
	shown  time.Time // when the bar or a line was last written
	latest moment
	bar    bool // a bar stands on the last line of the terminal
	done   bool
}

// moment is what a display shows.
type moment struct {
	doing       string
	done, total int
	line        string
}

// The least time between two plain lines, and between two states of the bar.
const (
	lineInterval = 5 * time.Second
	barInterval  = 100 * time.Millisecond
)

// newDisplay returns a display on w, which decides between a bar and lines.
func newDisplay(w io.Writer, now func() time.Time) *display {
	return &display{w: w, now: now, shown: now(), width: terminalWidth(w)}
}

// Start has a display that was finished show things again.
func (d *display) Start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown, d.done = d.now(), false
}

// Update shows how far an ingestion has come, if enough time has passed since something was shown.
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

// Write passes p on as whole text above the bar.
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

// Finish removes the bar. What is written afterwards is passed on as it is.
func (d *display) Finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeBar()
	d.done = true
}

// eraseLine goes back to the first column and clears what stands there (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

func (d *display) drawBar() {
	const cells = 10
	filled := cells * d.latest.done / d.latest.total
	text := "[" + strings.Repeat("#", filled) + strings.Repeat("-", cells-filled) + "] " + d.latest.line
	// A line that wraps could not be erased. Everything in it is one column wide.
	fmt.Fprint(d.w, eraseLine+text[:min(len(text), d.width-1)])
	d.bar = true
}

func (d *display) removeBar() {
	if d.bar {
		fmt.Fprint(d.w, eraseLine)
	}
	d.bar = false
}

// progressLine says how far an ingestion has come.
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
