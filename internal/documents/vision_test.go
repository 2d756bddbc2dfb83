package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/ocr/ocrtest"
	"parley/internal/retrieval"
)

// seer is a model with a scripted reply for each page that it is shown.
type seer struct {
	asked atomic.Int32
	reply func(n int32) (string, error)
}

func (s *seer) read(_ context.Context, picture []byte) (string, error) {
	if _, err := jpeg.Decode(bytes.NewReader(picture)); err != nil {
		return "", fmt.Errorf("that is no picture: %w", err)
	}
	return s.reply(s.asked.Add(1))
}

// visionShelf is a shelf whose pages are read by a model, with the scan of a sentence.
func visionShelf(t *testing.T, pages int, reply func(n int32) (string, error)) (*scanShelf, *Service, *seer) {
	t.Helper()
	s, model := newScanShelf(t), &seer{reply: reply}
	pictures := make([]*image.Gray, pages)
	for i := range pictures {
		pictures[i] = ocrtest.Picture(t, 1000, 400, 0, ocrtest.Paragraph(100, 120, "Lost keys cost $45.")...)
	}
	if err := os.WriteFile(filepath.Join(s.docs, "a.pdf"), extracttest.ScannedPDF(t, pictures...), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, s.visionService(model), model
}

func (s *scanShelf) visionService(model *seer) *Service {
	service := s.service(&Recognition{Languages: []string{"eng"}, Vision: &Vision{Model: "local:seer", Read: model.read}})
	service.recogniser = service.newRecogniser
	return service
}

func TestVision_ThePagesAreWhatTheModelReads(t *testing.T) {
	t.Parallel()
	s, service, model := visionShelf(t, 3, func(n int32) (string, error) {
		return []string{"```markdown\n---\n# Fees\n\nLost keys cost **$45**.\n\n| Plan | Price |\n|---|---|\n| Plus | $5 |\n```", "<!-- no text -->", "Page three."}[n-1], nil
	})
	s.ingest(service)
	if all := s.run(service, ended); all[0].State != job.Done {
		t.Fatalf("%+v", all[0])
	}
	if text, notes := s.text("a.pdf"); text != "Fees\n\nLost keys cost $45.\n\nPlan | Price\nPlan: Plus; Price: $5|Page three." || notes != "" {
		t.Errorf("%q, notes %q", text, notes)
	}
	if again := s.service(service.cfg.Recognition); again != nil {
		if report := s.ingest(again); report.Unchanged != 1 || model.asked.Load() != 3 {
			t.Errorf("another run: %+v, asked %d times", report, model.asked.Load())
		}
	}
	d, err := s.db.Corpus().Document(t.Context(), retrieval.Filter{Namespace: "default"}, "a.pdf")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := s.db.Corpus().Pages(t.Context(), d.Revision)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := ingest.DecodeMap(pages[0].Map)
	if err != nil {
		t.Fatal(err)
	}
	mapped.Text = pages[0].Text
	at := strings.Index(mapped.Text, "$45")
	if boxes := mapped.BoxesOf(at, at+3); len(boxes) != 1 || boxes[0].Width != 1 || boxes[0].Height != 1 {
		t.Errorf("the fee is marked at %+v", boxes)
	}
}

func TestVision_TesseractReadsThePagesThatTheModelRefuses(t *testing.T) {
	t.Parallel()
	s, service, _ := visionShelf(t, 2, func(n int32) (string, error) {
		if n == 1 {
			return "", &extract.Error{Reason: extract.ScanOnly, Detail: "the model refuses it"}
		}
		return "Page two.", nil
	})
	s.ingest(service)
	if all := s.run(service, ended); all[0].State != job.Done {
		t.Fatalf("%+v", all[0])
	}
	if text, notes := s.text("a.pdf"); text != "Lost keys cost $45.|Page two." || notes != "" {
		t.Errorf("%q, notes %q", text, notes)
	}
}

func TestVision_AModelThatReadsNoPagesFailsTheJobAndTheFileWaits(t *testing.T) {
	t.Parallel()
	refuse := &extract.Error{Reason: extract.ScanOnly, Detail: "the model cannot read its picture"}
	for name, fault := range map[string]error{"down": errors.New("no route to sk-secret"), "no eyes": refuse} {
		s, service, model := visionShelf(t, 4, func(int32) (string, error) { return "", fault })
		s.ingest(service)
		all := s.run(service, ended)
		if all[0].State != job.Failed || !strings.Contains(all[0].Message, "ingest.ocr_model") || strings.Contains(all[0].Message, "sk-secret") {
			t.Errorf("%s: %+v", name, all[0])
		}
		if n := model.asked.Load(); name == "down" && n != 1 || name == "no eyes" && n != maxRefusals {
			t.Errorf("%s: asked %d times", name, n)
		}
		before := model.asked.Load()
		*model = seer{reply: func(int32) (string, error) { return "Read.", nil }}
		again := s.visionService(model)
		if report := s.ingest(again); report.Waiting != 1 {
			t.Fatalf("%s: %+v", name, report)
		}
		s.run(again, func(all []job.Job) bool { return len(all) == 2 && ended(all) })
		// The pages that Tesseract has read meanwhile stay.
		if text, _ := s.text("a.pdf"); !strings.HasSuffix(text, "Read.|Read.") || model.asked.Load() != 4-before+1 {
			t.Errorf("%s: %q after %d and %d", name, text, before, model.asked.Load())
		}
	}
}

func TestVision_AnotherModelReadsAnew(t *testing.T) {
	t.Parallel()
	eng := &Recognition{Languages: []string{"eng"}}
	one := &Recognition{Languages: []string{"eng"}, Vision: &Vision{Model: "local:one"}}
	two := &Recognition{Languages: []string{"eng"}, Vision: &Vision{Model: "local:two"}}
	data := t.TempDir()
	if eng.open(data).Original("x") == one.open(data).Original("x") || one.open(data).Original("x") == two.open(data).Original("x") {
		t.Error("pages of different readers are in one place")
	}
}

func TestPlainMarkdown_TakesOffTheFenceAndWhatWouldBeFrontMatter(t *testing.T) {
	for answer, want := range map[string]string{
		"```\nA\n```":                    "A",
		"```markdown\n# A\n```\n":        "# A",
		"```\nA\n```\ntext\n```\nB\n```": "```\nA\n```\ntext\n```\nB\n```",
		"---\nusers: [a]\n---\nB":        "users: [a]\n---\nB",
		"+++\n\n---\nA":                  "A",
		"---":                            "",
		"- item":                         "- item",
	} {
		if got := plainMarkdown(answer); got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}
