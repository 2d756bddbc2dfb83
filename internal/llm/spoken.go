package llm

import (
	"context"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// Spoken is what is said in a recording from a time on.
type Spoken struct {
	At   time.Duration
	Text string
}

// Transcriber writes down what is said in recordings.
type Transcriber interface {
	// Transcribe reads a recording of so many bytes. Name ends in the extension of its format. The error is an *Error, or the
	// context's when that ended.
	Transcribe(ctx context.Context, model, name string, recording io.Reader, size int64) ([]Spoken, error)
}

// WebVTT writes subtitles of what is said.
func WebVTT(all []Spoken) string {
	var b strings.Builder
	b.WriteString("WEBVTT\n")
	for _, s := range all {
		text := strings.Join(strings.Fields(html.EscapeString(s.Text)), " ")
		if text == "" {
			continue
		}
		at := s.At.Truncate(time.Millisecond)
		stamp := fmt.Sprintf("%02d:%02d:%02d.%03d", int(at.Hours()), int(at.Minutes())%60, int(at.Seconds())%60, at.Milliseconds()%1000)
		fmt.Fprintf(&b, "\n%s --> %s\n%s\n", stamp, stamp, text)
	}
	return b.String()
}
