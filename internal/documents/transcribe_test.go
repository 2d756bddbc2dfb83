package documents

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"parley/internal/documents/job"
	"parley/internal/extract"
	"parley/internal/retrieval"
	"parley/test/needs"
)

// ear is a transcriber with scripted replies.
type ear struct {
	asked  atomic.Int32
	says   string
	refuse error
}

func (e *ear) write(_ context.Context, name string, recording io.Reader, size int64) (string, error) {
	e.asked.Add(1)
	data, err := io.ReadAll(recording)
	if err != nil || int64(len(data)) != size || !strings.HasPrefix(string(data), "ID3\x03") || name != "talk.mp3" {
		return "", errors.New("that is not the recording")
	}
	return e.says, e.refuse
}

// talk is a service that transcribes the recording talk.mp3.
func talk(t *testing.T, e *ear) (*scanShelf, *Service) {
	t.Helper()
	s := newScanShelf(t)
	if err := os.WriteFile(filepath.Join(s.docs, "talk.mp3"), []byte("ID3\x03 and sound"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := s.service(nil)
	service.cfg.Transcription = &Transcription{Model: "local:ear", Write: e.write}
	service.reading.cfg = service.cfg
	service.reading.transcribed = service.cfg.Transcription.open(s.data)
	return s, service
}

func TestTranscribe_ARecordingHasAPageForEachMinute(t *testing.T) {
	t.Parallel()
	e := &ear{says: "WEBVTT\n\n00:00:01.000 --> 00:00:01.000\nWelcome to the talk.\n\n00:02:05.000 --> 00:02:05.000\nThe deductible is 500 dollars.\n"}
	s, service := talk(t, e)
	if report := s.ingest(service); report.Waiting != 1 || s.waiting(service) != 1 {
		t.Fatalf("%+v, waiting %d", report, s.waiting(service))
	}
	all := s.run(service, ended)
	if len(all) != 1 || all[0].State != job.Done || all[0].Files[0].State != job.FileIndexed {
		t.Fatalf("%+v", all)
	}
	want := "0:00:00\n\nWelcome to the talk.|0:02:00\n\nThe deductible is 500 dollars."
	d, err := s.db.Corpus().Document(t.Context(), retrieval.Filter{Namespace: "default"}, "talk.mp3")
	if err != nil || d.Title != "talk" {
		t.Errorf("the title is %q, %v", d.Title, err)
	}
	if text, notes := s.text("talk.mp3"); text != want || notes != "" {
		t.Errorf("%q, notes %q", text, notes)
	}
	if report := s.ingest(service); report.Unchanged != 1 || s.waiting(service) != 0 || e.asked.Load() != 1 {
		t.Errorf("another run: %+v, asked %d times", report, e.asked.Load())
	}
}

func TestTranscribe_SaysWhyARecordingIsNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ear    *ear
		reason extract.Reason
		detail string
	}{
		"refused": {&ear{refuse: &extract.Error{Reason: extract.ScanOnly, Detail: "it is too large for the model"}}, extract.ScanOnly, "could not be transcribed: it is too large for the model"},
		"silent":  {&ear{says: "WEBVTT\n"}, extract.Empty, "nothing is said"},
	} {
		s, service := talk(t, c.ear)
		s.ingest(service)
		all := s.run(service, ended)
		if f := all[0].Files[0]; f.Reason != string(c.reason) || !strings.Contains(f.Detail, c.detail) || c.ear.asked.Load() != 1 {
			t.Errorf("%s: %+v, asked %d times", name, f, c.ear.asked.Load())
		}
		if s.ingest(service); s.waiting(service) != 0 {
			t.Errorf("%s: it waits again", name)
		}
	}
}

func TestTranscribe_AServerThatFailsIsAskedAgainByTheNextIngestion(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	e := &ear{refuse: errors.New("nobody listens")}
	s, service := talk(t, e)
	s.ingest(service)
	all := s.run(service, ended)
	if all[0].State != job.Failed || !strings.Contains(all[0].Message, "cannot be transcribed at the moment") || e.asked.Load() != transcriptionTries {
		t.Errorf("%+v, asked %d times", all[0], e.asked.Load())
	}
	*e = ear{says: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello.\n"}
	if s.ingest(service); s.waiting(service) != 1 {
		t.Fatal("the recording does not wait")
	}
	s.run(service, func(all []job.Job) bool { return len(all) == 2 && ended(all) })
	if text, _ := s.text("talk.mp3"); !strings.Contains(text, "Hello.") {
		t.Errorf("%q", text)
	}
}

func TestTranscribe_WithoutAModelTheReasonNamesTheSetting(t *testing.T) {
	t.Parallel()
	s, _ := talk(t, &ear{})
	report := s.ingest(s.service(anyLength))
	if len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Detail, "ingest.transcriber") {
		t.Errorf("%+v", report)
	}
}

// A recording that was heard is not heard again while the model stays, nor when there is none any more.
func TestTranscribe_AnotherModelHearsRecordingsAnew(t *testing.T) {
	t.Parallel()
	e := &ear{says: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello.\n"}
	s, service := talk(t, e)
	s.ingest(service)
	s.run(service, ended)
	s.ingest(s.service(nil)) // without a transcriber
	if text, _ := s.text("talk.mp3"); !strings.Contains(text, "Hello.") {
		t.Fatalf("without a model the text is %q", text)
	}
	if s.ingest(service); s.waiting(service) != 0 {
		t.Fatal("the same model hears it again")
	}
	e.says = "WEBVTT\n\n00:00.000 --> 00:01.000\nHi there.\n"
	other := s.service(nil)
	other.cfg.Transcription = &Transcription{Model: "local:better", Write: e.write}
	other.reading.cfg = other.cfg
	other.reading.transcribed = other.cfg.Transcription.open(s.data)
	if s.ingest(other); s.waiting(other) != 1 {
		t.Fatal("another model does not hear it")
	}
	s.run(other, func(all []job.Job) bool { return len(all) == 2 && ended(all) })
	if text, _ := s.text("talk.mp3"); !strings.Contains(text, "Hi there.") || e.asked.Load() != 2 {
		t.Errorf("%q, asked %d times", text, e.asked.Load())
	}
}
