package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/interrupt"
)

// Recognise is the kind of jobs that recognise the text on the pictures of pages.
const Recognise = "recognise"

// Recognition says how the text on pictures of pages is recognised.
type Recognition struct {
	Languages []string // Tesseract's names of them
	Data      string   // folder with the data of languages other than English; "" for none
	MaxPages  int      // of one document; a document with more is left alone; 0 means no limit
	Vision    *Vision  // reads pages; Tesseract reads the pages that it refuses, or all if it is nil
}

// The limits for the recognition of one page.
const (
	pageTime   = 2 * time.Minute
	pageMemory = 768 << 20
)

// open returns where recognised pages are kept.
func (r *Recognition) open(data string) *ingest.RecognisedPages {
	if r == nil || data == "" {
		return nil
	}
	key := "tesseract 5 by blocks " + strings.Join(r.Languages, "+")
	if r.Vision != nil {
		key = "model " + r.Vision.Model + " before " + key
	}
	return ingest.OpenRecognised(filepath.Join(data, "recognised"), key)
}

// vision is the model that reads pages, nil if there is none.
func (r *Recognition) vision() *Vision {
	if r == nil {
		return nil
	}
	return r.Vision
}

// recognition returns the configuration of recognition for an ingestion.
func (r *reader) recognition() *ingest.Recognition {
	if r.recognised == nil && r.transcribed == nil {
		return nil
	}
	about := &ingest.Recognition{Pages: r.recognised, Speech: r.transcribed, Waiting: r.waiting}
	if r.recognised != nil {
		about.MaxPages = r.cfg.Recognition.MaxPages
	}
	return about
}

// await notes a file whose pages wait.
func (s *Service) await(w ingest.Waiting) {
	s.queue.Lock()
	s.unseen = append(s.unseen, w)
	s.queue.Unlock()
	select {
	case s.stirred <- struct{}{}:
	default:
	}
}

func (s *Service) takeUnseen() []ingest.Waiting {
	s.queue.Lock()
	defer s.queue.Unlock()
	all := s.unseen
	s.unseen = nil
	return all
}

// The files that are found within gatherTime go into one job, of at most MaxFiles.
const gatherTime = time.Second

// keepRecognising makes jobs of the files that wait, until ctx ends.
func (s *Service) keepRecognising(ctx context.Context) {
	for {
		select {
		case <-s.stirred:
		case <-ctx.Done():
			return
		}
		if interrupt.Sleep(ctx, gatherTime) != nil {
			return
		}
		if err := s.addRecognition(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("queue the recognition of text on pictures; the next ingestion tries again", "error", err)
		}
	}
}

// AwaitRecognition returns how many files of a namespace wait until the text on their pages is recognised, including those
// that are being worked on.
func (s *Service) AwaitRecognition(ctx context.Context, namespace string) (files int, err error) {
	s.queue.Lock()
	for _, w := range s.unseen {
		if w.Namespace == namespace {
			files++
		}
	}
	s.queue.Unlock()
	unfinished, err := s.cfg.Jobs.Unfinished(ctx)
	if err != nil {
		return files, fmt.Errorf("read the jobs: %w", err)
	}
	for _, j := range unfinished {
		if j.Kind != Recognise || j.Namespace != namespace {
			continue
		}
		if j, err = s.runner.Job(ctx, j.Owner, j.ID); err == nil {
			files += j.Counts.Total - j.Counts.Done
		} // else it has ended meanwhile
	}
	return files, nil
}

// scope holds the properties that the files of a job share.
type scope struct{ namespace, owner string }

// addRecognition makes a job for the waiting files of each owner in each namespace. It leaves out files for which there is a
// job already.
func (s *Service) addRecognition(ctx context.Context) error {
	unfinished, err := s.cfg.Jobs.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("read the jobs: %w", err)
	}
	queued := map[string]bool{}
	key := func(w ingest.Waiting) string {
		return w.SHA256 + "\x00" + w.Namespace + "\x00" + w.Root + "\x00" + w.Path
	}
	for _, j := range unfinished {
		if j.Kind != Recognise {
			continue
		}
		if j, err = s.cfg.Jobs.Job(ctx, j.Owner, j.ID); err != nil {
			continue // it has ended meanwhile
		}
		var files []ingest.Waiting
		if json.Unmarshal(j.Request, &files) == nil {
			for _, w := range files {
				queued[key(w)] = true
			}
		}
	}
	groups := map[scope][]ingest.Waiting{}
	for _, w := range s.takeUnseen() {
		if !queued[key(w)] {
			queued[key(w)] = true
			in := scope{w.Namespace, w.Owner}
			groups[in] = append(groups[in], w)
		}
	}
	for in, files := range groups {
		for len(files) > 0 {
			part := files[:min(len(files), MaxFiles)]
			files = files[len(part):]
			if err := s.addRecognitionOf(ctx, in, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) addRecognitionOf(ctx context.Context, in scope, files []ingest.Waiting) error {
	j := job.Job{ID: job.NewID(), Kind: Recognise, Namespace: in.namespace, Owner: in.owner}
	for _, w := range files {
		j.Files = append(j.Files, job.File{Name: shownPath(w), State: job.FileQueued})
	}
	var err error
	if j.Request, err = json.Marshal(files); err != nil {
		return fmt.Errorf("write the request of a job: %w", err)
	}
	_, err = s.add(ctx, j)
	return err
}

// shownPath is the path of a file below its root, and its name if it is the root.
func shownPath(w ingest.Waiting) string {
	if w.Path == "." {
		return w.Name
	}
	return w.Path
}

// recogniseJob recognises the files of a job, one page after the other, and reads each file again when its pages are
// known. Pages that an earlier run has recognised are kept.
func (s *Service) recogniseJob(ctx context.Context, t *job.Task) error {
	var files []ingest.Waiting
	if err := json.Unmarshal(t.Job().Request, &files); err != nil {
		return fmt.Errorf("read the request of the job: %w", err)
	}
	pool := s.recogniser()
	defer pool.Close()
	for i, w := range files {
		switch {
		case w.Speech && s.reading.transcribed == nil:
			return &job.FailureError{Msg: "Recordings are not transcribed (ingest.transcriber)."}
		case !w.Speech && s.reading.recognised == nil:
			return &job.FailureError{Msg: "The recognition of text on pictures is switched off (ingest.ocr)."}
		}
		if t.Job().Files[i].State != job.FileQueued {
			continue
		}
		set := func(f job.File) {
			f.Name = shownPath(w)
			t.Update(func(j *job.Job) { j.Files[i] = f })
		}
		tell := func(done, of int) {
			if w.Speech {
				t.Doing("Transcribing " + shownPath(w) + ".")
				return
			}
			t.Doing(fmt.Sprintf("Recognising %s: %d of %d pages are done.", shownPath(w), done, of))
		}
		err := s.recogniseFile(ctx, pool, w, tell, waiter(ctx, t, "Reading the file."), set)
		if unread, ok := errors.AsType[*visionError](err); ok {
			s.cfg.Logger.Warn("read pages with a model", "file", shownPath(w), "error", unread.cause)
			return unread.failure()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recogniser reads the text on the picture of a page.
type recogniser interface {
	Recognise(ctx context.Context, r extract.Request, page int, languages []string, data string) (*extract.Page, error)
	Close() error
}

// findTesseract returns the program of this machine that recognises text, or nil if it cannot be used.
func (s *Service) findTesseract() *sandbox.Tesseract {
	about, log := s.cfg.Recognition, s.cfg.Logger
	if about.Vision != nil {
		log = log.With("refused_by", about.Vision.Model) // it reads these pages only
	}
	t, err := sandbox.FindTesseract(context.Background(), about.Languages, about.Data)
	if err != nil {
		log.Info("text on pages is recognised by the built-in Tesseract", "reason", err)
		return nil
	}
	log.Info("text on pages is recognised by the tesseract in PATH", "path", t.Path, "version", t.Version)
	return t
}

// newRecogniser returns a pool of one process, with the limits for one page.
func (s *Service) newRecogniser() recogniser {
	limits := s.cfg.Extract
	limits.Time, limits.MemoryBytes = pageTime, max(limits.MemoryBytes, pageMemory)
	pool := sandbox.NewPool(sandbox.Options{
		Workers: 1, CacheDir: s.reading.cache(), Limits: limits, Tesseract: s.tesseract(),
		Failed: func(err error) {
			s.cfg.Logger.Warn("the tesseract in PATH failed on a page that the built-in one has read", "error", err)
		},
	})
	vision := s.cfg.Recognition.vision()
	if vision == nil {
		return pool
	}
	return &modelReader{sandboxed: pool, vision: vision, temporary: s.reading.temporary, refused: func(err error) {
		s.cfg.Logger.Warn("Tesseract reads a page that the model refuses", "model", vision.Model, "error", err)
	}}
}

// recogniseFile recognises the pages of a file and reads it again. The outcome goes to set. The error ends the job.
func (s *Service) recogniseFile(ctx context.Context, pool recogniser, w ingest.Waiting, tell func(done, of int), wait func() error, set func(job.File)) error {
	kept := s.reading.recognised
	var err error
	if w.Speech {
		tell(0, len(w.Pages))
		kept = s.reading.transcribed
		err = s.transcribe(ctx, w)
	} else {
		err = s.recognisePages(ctx, pool, w, tell)
	}
	if err != nil {
		return err
	}
	outcome := job.File{State: job.FileFailed, Reason: string(ingest.Deleted), Detail: "The file no longer exists."}
	err = s.readFileAgain(ctx, w.Namespace, reindexRequest{Root: w.Root, Path: w.Path, Namespace: w.Namespace}, func(o ingest.Outcome) {
		if o.Path == w.Path || w.Path == "." {
			outcome = job.File{State: stateOf(o.Reason), Reason: string(o.Reason), Detail: o.Detail, Partly: partly(o), DocumentID: o.DocumentID}
		}
	}, wait)
	failure, isFailure := errors.AsType[*job.FailureError](err)
	bad, isPath := errors.AsType[*ingest.PathError](err)
	switch {
	case isPath:
		outcome.Detail = "The file cannot be read: " + bad.Reason + "."
	case isFailure:
		outcome.Detail = failure.Msg
	case err != nil:
		return err
	}
	set(outcome)
	return kept.Done(w.SHA256)
}

// busyTries is the maximum number of attempts while the machine is too busy.
const busyTries = 5

// recognisePages recognises the pages of a file that were not recognised before.
func (s *Service) recognisePages(ctx context.Context, pool recogniser, w ingest.Waiting, tell func(done, of int)) error {
	pages := s.reading.recognised
	known := pages.Of(w.SHA256)
	request := extract.Request{Name: w.Name, Path: pages.Original(w.SHA256)}
	if _, err := os.Stat(request.Path); err != nil {
		return nil //nolint:nilerr // another job has recognised it, or reading it again shows what is missing
	}
	for i, number := range w.Pages {
		tell(i, len(w.Pages))
		if _, ok := known[number]; ok {
			continue
		}
		seen, err := s.recognisePage(ctx, pool, request, number)
		if err != nil {
			return err
		}
		if err := pages.Put(w.SHA256, number, seen); err != nil {
			return s.full(err)
		}
	}
	return nil
}

// recognisePage recognises a page, or says why that is not possible.
func (s *Service) recognisePage(ctx context.Context, pool recogniser, r extract.Request, number int) (extract.Seen, error) {
	about := s.cfg.Recognition
	for i := 1; ; i++ {
		page, err := pool.Recognise(ctx, r, number, about.Languages, about.Data)
		refused, ok := errors.AsType[*extract.Error](err)
		switch {
		case err == nil:
			return extract.Seen{Page: *page}, nil
		case !ok:
			return extract.Seen{}, err
		case refused.Reason != extract.Busy || i == busyTries:
			return extract.Seen{Failed: refused.Detail}, nil
		}
		if interrupt.Sleep(ctx, time.Duration(i)*gatherTime) != nil {
			return extract.Seen{}, ctx.Err()
		}
	}
}

// RecogniseNow recognises the pages that wait, for commands that run no jobs. Tell is called before each page.
func (s *Service) RecogniseNow(ctx context.Context, tell func(name string, done, of int)) error {
	waiting := s.takeUnseen()
	if len(waiting) == 0 {
		return nil
	}
	pool := s.recogniser()
	defer pool.Close()
	for _, w := range waiting {
		err := s.recogniseFile(ctx, pool, w, func(done, of int) { tell(shownPath(w), done, of) }, func() error {
			return interrupt.Sleep(ctx, lockInterval)
		}, func(job.File) {})
		if err != nil {
			return err
		}
	}
	return nil
}
