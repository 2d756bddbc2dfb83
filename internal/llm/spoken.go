package llm

import (
	"context"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// Spoken is a piece of the speech of a recording, with the time at which it begins.
type Spoken struct {
	At   time.Duration
	Text string
}

// Transcriber writes down what is said in recordings.
type Transcriber interface {
	// Transcribe reads a recording, whose size is in bytes. Name ends in the extension of its format. The error is an *Error, or the
	// context's when that ended.
	Transcribe(ctx context.Context, model, name string, recording io.Reader, size int64) (Transcript, error)
}

// Transcript is the speech of a recording, and the usage of its transcription.
type Transcript struct {
	Spoken []Spoken
	Usage  Usage
}

// Transcriber is like Model, for a transcriber. It makes one attempt only, because the recording can be read once.
func (g Guards) Transcriber(t Transcriber) Transcriber {
	g.Retrier = nil
	return guardedTranscriber{g, t}
}

type guardedTranscriber struct {
	Guards
	transcriber Transcriber
}

// Transcribe implements Transcriber.
func (t guardedTranscriber) Transcribe(ctx context.Context, model, name string, recording io.Reader, size int64) (out Transcript, err error) {
	enter := func(m Meter) (Metering, error) { return m.Transcription(ctx, model) }
	err = t.piece(ctx, "transcription", model, enter, func(ctx context.Context) (*Usage, error) {
		out, err = t.transcriber.Transcribe(ctx, model, name, recording, size)
		return &out.Usage, err
	})
	return out, err
}

// WebVTT writes the speech as subtitles.
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
