package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/extract"
	"parley/internal/interrupt"
)

// Transcription says how recordings are written down.
type Transcription struct {
	Model string // transcripts of another one are not used
	// Write returns the speech of a recording, whose size is in bytes, as WebVTT. An *extract.Error says that this recording cannot be
	// transcribed; any other error says that no recording can be transcribed at the moment.
	Write func(ctx context.Context, name string, recording io.Reader, size int64) (string, error)
}

// open returns where transcripts are kept.
func (t *Transcription) open(data string) *ingest.RecognisedPages {
	if t == nil || data == "" {
		return nil
	}
	return ingest.OpenRecognised(filepath.Join(data, "transcribed"), t.Model)
}

// transcriptionTries are how often a recording is sent before the job fails.
const transcriptionTries = 3

// transcribe writes a recording down, unless that was done before.
func (s *Service) transcribe(ctx context.Context, w ingest.Waiting) error {
	pages := s.reading.transcribed
	if _, known := pages.Of(w.SHA256)[1]; known {
		return nil
	}
	subtitles, err := s.writeDown(ctx, w)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another job has transcribed it, or reading it again shows what is missing
	}
	refused, isRefused := errors.AsType[*extract.Error](err)
	switch {
	case isRefused:
		return s.full(pages.Put(w.SHA256, 1, extract.Seen{Failed: refused.Detail}))
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.cfg.Logger.Warn("transcribe a recording", "file", shownPath(w), "error", err)
		return &job.FailureError{Msg: "Recordings cannot be transcribed at the moment; the next ingestion tries again. The log says why."}
	}
	minutes := map[int]extract.Seen{1: {}}
	doc, err := extract.ReadFile(ctx, "speech.vtt", strings.NewReader(subtitles), int64(len(subtitles)), s.cfg.Extract)
	refused, _ = errors.AsType[*extract.Error](err)
	switch {
	case refused != nil && refused.Reason != extract.Empty:
		minutes[1] = extract.Seen{Failed: refused.Detail}
	case err != nil && refused == nil:
		return fmt.Errorf("read a transcript: %w", err)
	case err == nil:
		for _, p := range doc.Pages {
			minutes[p.Number] = extract.Seen{Page: p}
		}
	}
	// The first minute comes last: it says that the others are there.
	for _, minute := range slices.Backward(slices.Sorted(maps.Keys(minutes))) {
		if err := pages.Put(w.SHA256, minute, minutes[minute]); err != nil {
			return s.full(err)
		}
	}
	return nil
}

// writeDown sends a recording, several times if that fails.
func (s *Service) writeDown(ctx context.Context, w ingest.Waiting) (subtitles string, err error) {
	for i := range transcriptionTries {
		if i > 0 && interrupt.Sleep(ctx, time.Duration(i)*gatherTime) != nil {
			return "", ctx.Err()
		}
		if subtitles, err = s.sendRecording(ctx, w); err == nil {
			return subtitles, nil
		}
		if _, refused := errors.AsType[*extract.Error](err); refused || errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return "", err
}

func (s *Service) sendRecording(ctx context.Context, w ingest.Waiting) (string, error) {
	f, err := os.Open(s.reading.transcribed.Original(w.SHA256))
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return s.cfg.Transcription.Write(ctx, w.Name, f, info.Size())
}
