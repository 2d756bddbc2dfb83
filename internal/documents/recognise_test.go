package documents

import (
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/extract/sandbox"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/test/needs"
)

func TestMain(m *testing.M) {
	sandbox.RunWorkerIfAsked(ingest.Post)
	m.Run()
}

// eyes is a recogniser that finds "words of page N" on each page.
type eyes struct {
	mu      sync.Mutex
	asked   []int
	stuck   int   // a page that it does not finish before its context ends
	refused int   // a page that it cannot read
	broken  error // of every page
}

func (e *eyes) Recognise(ctx context.Context, r extract.Request, page int, _ []string, _ string) (*extract.Page, error) {
	e.mu.Lock()
	e.asked = append(e.asked, page)
	stuck, refused, broken := e.stuck == page, e.refused == page, e.broken
	e.mu.Unlock()
	if _, err := os.Stat(r.Path); err != nil {
		return nil, err
	}
	switch {
	case stuck:
		<-ctx.Done()
		return nil, ctx.Err()
	case refused:
		return nil, &extract.Error{Reason: extract.Timeout, Detail: "reading it takes longer than 2m0s"}
	case broken != nil:
		return nil, broken
	}
	text := fmt.Sprintf("words of page %d", page)
	return &extract.Page{Number: page, Text: text, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(text)}}}, nil
}

func (e *eyes) Close() error { return nil }

func (e *eyes) pages() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// scanShelf is a data folder, and a folder of scans beside it.
type scanShelf struct {
	t          *testing.T
	data, docs string
	db         *store.DB
	corpus     *retrieval.Corpus
	eyes       *eyes
}

func newScanShelf(t *testing.T) *scanShelf {
	t.Helper()
	s := &scanShelf{t: t, data: t.TempDir(), docs: t.TempDir(), eyes: &eyes{}}
	var err error
	if s.db, err = store.Open(t.Context(), s.data, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.db.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.corpus, err = retrieval.Open(t.Context(), s.db.Corpus(), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// scan writes a PDF file of pages that are pictures.
func (s *scanShelf) scan(name string, pages int) {
	s.t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 30, 30))
	data := extracttest.ScannedPDF(s.t, slices.Repeat([]*image.Gray{picture}, pages)...)
	if err := os.WriteFile(filepath.Join(s.docs, name), data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// service returns one that has not run before, as after a start of the program.
func (s *scanShelf) service(about *Recognition) *Service {
	service := New(Config{
		Data: s.data, Cache: needs.ParserCache(), Namespace: "default", Workers: 1, Recognition: about,
		Store: s.db.Corpus(), Corpus: s.corpus, Blobs: s.db.Blobs(), Disk: s.db, Jobs: s.db.Jobs(), Vectors: s.db.Corpus(),
	})
	service.recogniser = func() recogniser { return s.eyes }
	return service
}

func (s *scanShelf) ingest(service *Service) ingest.Report {
	s.t.Helper()
	report, err := service.Ingest(s.t.Context(), Sources{Paths: []string{s.docs}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// run runs the service's jobs until they have ended as wanted.
func (s *scanShelf) run(service *Service, until func([]job.Job) bool) []job.Job {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	var done sync.WaitGroup
	done.Go(func() { service.Run(ctx) })
	defer done.Wait()
	defer stop()
	for ctx.Err() == nil {
		all, err := service.Jobs().Jobs(ctx, job.List{Limit: 10})
		if err != nil {
			s.t.Fatal(err)
		}
		if until(all) {
			for i := range all {
				if all[i], err = service.Jobs().Job(ctx, "", all[i].ID); err != nil {
					s.t.Fatal(err)
				}
			}
			return all
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatal("the jobs do not end")
	return nil
}

func ended(all []job.Job) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(j job.Job) bool { return !j.State.Final() })
}

// text returns the text of a document's pages, and what is said of its parts that could not be read.
func (s *scanShelf) text(name string) (text, notes string) {
	s.t.Helper()
	d, err := s.db.Corpus().Document(s.t.Context(), retrieval.Filter{Namespace: "default"}, name)
	if err != nil {
		s.t.Fatal(err)
	}
	pages, err := s.db.Corpus().Pages(s.t.Context(), d.Revision)
	if err != nil {
		s.t.Fatal(err)
	}
	var texts []string
	for _, p := range pages {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "|"), d.Notes
}

func (s *scanShelf) waiting(service *Service) int {
	s.t.Helper()
	n, err := service.AwaitRecognition(s.t.Context(), "default")
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

var anyLength = &Recognition{Languages: []string{"eng"}}

func TestRecognise_GoesOnBehindThePagesOfAJobThatWasCutShort(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	s.scan("a.pdf", 4)
	first := s.service(anyLength)
	if report := s.ingest(first); report.Waiting != 1 || s.waiting(first) != 1 {
		t.Fatalf("%+v, waiting %d", report, s.waiting(first))
	}
	s.eyes.stuck = 3
	s.run(first, func(all []job.Job) bool {
		return len(s.eyes.pages()) == 3 && len(all) == 1 && strings.Contains(all[0].Message, "a.pdf: 2 of 4 pages")
	})
	if got := s.waiting(s.service(anyLength)); got != 1 {
		t.Errorf("after the stop %d files wait", got)
	}
	s.eyes = &eyes{}
	second := s.service(anyLength)
	all := s.run(second, ended)
	if len(all) != 1 || all[0].State != job.Done || all[0].Files[0].State != job.FileIndexed || all[0].Files[0].DocumentID == "" {
		t.Errorf("%+v", all)
	}
	if got := s.eyes.pages(); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("the second start recognises the pages %v", got)
	}
	if text, notes := s.text("a.pdf"); text != "words of page 1|words of page 2|words of page 3|words of page 4" || notes != "" {
		t.Errorf("%q, notes %q", text, notes)
	}
	if report := s.ingest(second); report.Unchanged != 1 || s.waiting(second) != 0 {
		t.Errorf("another run: %+v", report)
	}
}

func TestRecognise_LeavesOutAPageThatCannotBeRecognised(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	s.scan("a.pdf", 3)
	s.eyes.refused = 2
	service := s.service(anyLength)
	s.ingest(service)
	all := s.run(service, ended)
	if f := all[0].Files[0]; f.State != job.FileIndexed || !f.Partly || !strings.Contains(f.Detail, "page 2 could not be recognised: reading it takes longer") {
		t.Errorf("%+v", f)
	}
	if text, notes := s.text("a.pdf"); text != "words of page 1|words of page 3" || !strings.Contains(notes, "page 2") {
		t.Errorf("%q, notes %q", text, notes)
	}
	if s.ingest(service); s.waiting(service) != 0 {
		t.Error("the page waits again")
	}
}

func TestRecognise_AFaultOfTheMachineFailsTheJobAndKeepsTheFileWaiting(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	s.scan("a.pdf", 2)
	s.eyes.broken = fmt.Errorf("no process")
	service := s.service(anyLength)
	s.ingest(service)
	if all := s.run(service, ended); all[0].State != job.Failed || strings.Contains(all[0].Error, "no process") {
		t.Errorf("%+v", all[0])
	}
	s.eyes = &eyes{}
	again := s.service(anyLength)
	if report := s.ingest(again); report.Waiting != 1 {
		t.Errorf("the next run: %+v", report)
	}
	s.run(again, func(all []job.Job) bool { return len(all) == 2 && ended(all) })
	if text, _ := s.text("a.pdf"); text != "words of page 1|words of page 2" {
		t.Errorf("%q", text)
	}
}

func TestRecognise_SaysWhatIsNotRecognisedAndWhy(t *testing.T) {
	t.Parallel()
	for name, about := range map[string]*Recognition{"ingest.ocr)": nil, "at most 2 pages of a document, and 3": {Languages: []string{"eng"}, MaxPages: 2}} {
		s := newScanShelf(t)
		s.scan("a.pdf", 3)
		service := s.service(about)
		report := s.ingest(service)
		if len(report.Skipped) != 1 || report.Skipped[0].Reason != extract.ScanOnly || !strings.Contains(report.Skipped[0].Detail, name) || s.waiting(service) != 0 {
			t.Errorf("%s: %+v, waiting %d", name, report, s.waiting(service))
		}
	}
}

// Jobs that were stored before the recognition was switched off say so.
func TestRecognise_AJobFailsWithAReasonWhenItIsOff(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	s.scan("a.pdf", 2)
	on := s.service(anyLength)
	s.ingest(on)
	if err := on.addRecognition(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.run(s.service(nil), ended)
	if all[0].State != job.Failed || !strings.Contains(all[0].Error, "switched off") || len(s.eyes.pages()) != 0 {
		t.Errorf("%+v", all[0])
	}
}

func TestRecogniseNow_SaysWhichPageItIsAt(t *testing.T) {
	t.Parallel()
	s := newScanShelf(t)
	s.scan("a.pdf", 2)
	service := s.service(anyLength)
	s.ingest(service)
	var said []string
	if err := service.RecogniseNow(t.Context(), func(name string, done, of int) { said = append(said, fmt.Sprintf("%s %d/%d", name, done, of)) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(said, []string{"a.pdf 0/2", "a.pdf 1/2"}) || s.waiting(service) != 0 {
		t.Errorf("%q, waiting %d", said, s.waiting(service))
	}
}
