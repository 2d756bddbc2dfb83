package documents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/metadata"
	"parley/internal/documents/source"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// wishes are requests of the owner of a remote source: the Source of its root.
type wishes struct {
	Remote bool      `json:"remote"` // always true, so that the text is not empty
	Paused bool      `json:"paused,omitempty"`
	First  bool      `json:"first,omitempty"` // it is paused only until somebody asks for its first run
	Wanted time.Time `json:"wanted,omitzero"` // a run that began before does not count
	Lose   bool      `json:"lose,omitempty"`  // the wanted run may delete all documents of a source that lists nothing
}

// SourceRun is how the last run of a remote source went: the State of its root.
type SourceRun struct {
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"` // before Began: it is running, or was cut short
	// Succeeded is the end of the last run that could list the source. FailingSince is the end of the first run after it that
	// could not.
	Succeeded    time.Time `json:"succeeded,omitzero"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	Error        string    `json:"error,omitempty"` // why the last run could not read the source; for people
	// The results of the last run.
	Indexed   int           `json:"indexed"`
	Updated   int           `json:"updated"`
	Unchanged int           `json:"unchanged"`
	Deleted   int           `json:"deleted"`
	Skipped   int           `json:"skipped"`
	Failed    int           `json:"failed"`
	Failures  []SourceFault `json:"failures,omitempty"` // the first of the failed ones
}

// SourceFault is an object that could not be read.
type SourceFault struct {
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

// maxFaults is the maximum number of faults kept of a run.
const maxFaults = 20

// ErrNoSource says that there is no such source in the namespace.
var ErrNoSource = errors.New("no such source")

// readRemotes brings the service's namespace up to date with remote sources. It skips sources that another process is reading, and
// unless from.Paused is set, paused ones. A source that cannot be read is a failure in the report.
func (s *Service) readRemotes(ctx context.Context, in *ingest.Ingester, from Sources, progress func(ingest.Progress)) (total ingest.Report, err error) {
	var locked error
	namespace := s.cfg.Namespace
	for _, a := range from.Remotes {
		root, known, err := s.remoteRoot(ctx, namespace, a.String())
		wish := decodeWishes(root.Source)
		if err == nil && !known && !from.Paused && s.cfg.BegunByPeople != nil && s.cfg.BegunByPeople(a) {
			wish.Paused, wish.First = true, true
			err = s.putWishes(ctx, namespace, root, wish)
		}
		if err != nil {
			return total, err
		}
		if wish.Paused && !from.Paused {
			continue
		}
		report, err := s.readRemote(ctx, in, namespace, a, progress)
		total.Add(report)
		failed, isRemote := errors.AsType[*ingest.RemoteError](err)
		switch {
		case isRemote:
			total.Failed = append(total.Failed, ingest.FileResult{Path: failed.Address, Reason: extract.Unreadable, Detail: failed.Reason})
		case errors.As(err, new(*ingest.LockedError)):
			locked = err
		case err != nil:
			return total, err
		}
	}
	return total, locked
}

// readRemote reads one source, and records the result.
func (s *Service) readRemote(ctx context.Context, in *ingest.Ingester, namespace string, a source.Address, progress func(ingest.Progress)) (ingest.Report, error) {
	root, known, err := s.remoteRoot(ctx, namespace, a.String())
	if err != nil {
		return ingest.Report{}, err
	}
	wish, before := decodeWishes(root.Source), decodeRun(root.State)
	if s.cfg.KeepLost > 0 && time.Since(before.Ended) > s.cfg.KeepLost/2 {
		before.FailingSince = time.Time{} // nobody has looked for so long: the source may have worked meanwhile
	}
	if !known {
		if err := s.putWishes(ctx, namespace, root, wishes{Remote: true}); err != nil {
			return ingest.Report{}, err
		}
	}
	now := before
	now.Began = time.Now().UTC()
	if err := s.putRun(ctx, namespace, root.Path, now); err != nil {
		return ingest.Report{}, err
	}
	from := s.remoteOf(a, "sources", namespace)
	from.Lose = wish.Lose && wish.Wanted.After(before.Began)
	report, err := in.RunRemote(ctx, from, progress)
	failed, isRemote := errors.AsType[*ingest.RemoteError](err)
	switch {
	case errors.As(err, new(*ingest.LockedError)), ctx.Err() != nil:
		// Another run is reading the source and records its own result, or this run continues at the next start.
		if now.Began = before.Began; ctx.Err() == nil {
			return report, errors.Join(err, s.putRun(ctx, namespace, root.Path, before))
		}
		return report, err
	case isRemote && !failed.Full && s.isLost(before, now.Began):
		from.Open, from.Lose = func(context.Context) (source.Source, error) { return source.Nothing{}, nil }, true
		s.cfg.Logger.Warn("delete the documents of a source that could not be read for too long", "source", a.String(), "since", before.FailingSince)
		gone, loseErr := in.RunRemote(ctx, from, progress)
		report.Add(gone)
		err = errors.Join(err, loseErr)
	}
	now.end(report, failed, err)
	if isRemote && !known && now.Succeeded.IsZero() && !s.isConfigured(a) { // perhaps misspelt
		return report, errors.Join(err, s.cfg.Corpus.Apply(ctx, retrieval.Batch{Namespace: namespace, DropRoots: []string{root.Path}}))
	}
	return report, errors.Join(err, s.putRun(ctx, namespace, root.Path, now))
}

// readRemoteAgain reads what has changed in a source, for a job. It waits while another run reads the source.
func (s *Service) readRemoteAgain(ctx context.Context, namespace string, a source.Address, outcome func(ingest.Outcome), wait func() error) error {
	pool := s.reading.pool(s.reading.workers(), false)
	defer pool.Close()
	c := s.reading.config(namespace, pool)
	c.Outcome = outcome
	for {
		if _, known, err := s.remoteRoot(ctx, namespace, a.String()); err != nil || !known {
			return errors.Join(err, &job.FailureError{Msg: "The source was removed.", Err: ErrNoSource})
		}
		_, err := s.readRemote(ctx, ingest.New(c), namespace, a, nil)
		if failed, ok := errors.AsType[*ingest.RemoteError](err); ok {
			return &job.FailureError{Msg: "The source cannot be read: " + failed.Reason, Err: err}
		}
		if !errors.As(err, new(*ingest.LockedError)) {
			return s.full(err)
		}
		if err := wait(); err != nil {
			return err
		}
	}
}

// isLost reports whether a source could not be read for so long that its documents are given up.
func (s *Service) isLost(before SourceRun, now time.Time) bool {
	return s.cfg.KeepLost > 0 && !before.FailingSince.IsZero() && now.Sub(before.FailingSince) > s.cfg.KeepLost
}

func (s *Service) isConfigured(a source.Address) bool {
	return slices.ContainsFunc(s.cfg.Remotes, func(o source.Address) bool { return o.String() == a.String() })
}

// end enters the result of a run.
func (r *SourceRun) end(report ingest.Report, failed *ingest.RemoteError, err error) {
	r.Ended = time.Now().UTC()
	switch {
	case failed != nil:
		r.Error = failed.Reason
	case err != nil:
		r.Error = "The server could not store what it read; its log says why."
	default:
		r.Error = ""
	}
	switch {
	case err == nil:
		r.Succeeded, r.FailingSince = r.Ended, time.Time{}
	case failed != nil && failed.Full:
		r.FailingSince = time.Time{} // the source can be reached
	case failed != nil && r.FailingSince.IsZero():
		r.FailingSince = r.Ended
	}
	r.Indexed, r.Updated, r.Unchanged, r.Deleted = report.Indexed, report.Updated, report.Unchanged, report.Deleted
	r.Skipped, r.Failed, r.Failures = len(report.Skipped), len(report.Failed), nil
	for _, f := range report.Failed[:min(len(report.Failed), maxFaults)] {
		r.Failures = append(r.Failures, SourceFault{f.Path, f.Detail})
	}
}

// SaidOfSource is what the configuration says of a remote source.
type SaidOfSource struct {
	Fields metadata.Fields // of all its documents
	Quota  int64           // of all its files, in bytes; 0 for none
	Rights bool            // the source decides who may see each document
}

// saidOf returns what the configuration says of a source.
func (s *Service) saidOf(a source.Address) (said SaidOfSource) {
	if s.cfg.Said != nil {
		said = s.cfg.Said(a)
	}
	return said
}

// remoteOf returns a source as it is read for a purpose: see opener.
func (s *Service) remoteOf(a source.Address, purpose, namespace string) ingest.Remote {
	said := s.saidOf(a)
	return ingest.Remote{Address: a, Open: s.opener(a, purpose, namespace, said.Rights), Said: said.Fields, Quota: said.Quota, Rights: said.Rights}
}

// opener returns the function that opens a source with its account. The cache is that of a purpose and a namespace, since
// one run at a time may use it.
func (s *Service) opener(a source.Address, purpose, namespace string, rights bool) func(context.Context) (source.Source, error) {
	return func(ctx context.Context) (source.Source, error) {
		owner := sha256.Sum256([]byte(namespace)) // a namespace may not be a valid name of a folder
		return s.open(ctx, a, filepath.Join(s.reading.cache(), purpose, hex.EncodeToString(owner[:16])), rights)
	}
}

// open opens a source with its account. With rights, it is asked who may read each object.
func (s *Service) open(ctx context.Context, a source.Address, cache string, rights bool) (source.Source, error) {
	o := source.Options{Cache: cache, MaxBytes: ingest.MaxFile, Rights: rights}
	o.Reads = func(path string, size int64) bool { return ingest.MayRead(s.reading.supports, path, size) }
	if s.cfg.Accounts != nil {
		var err error
		if o.Account, err = s.cfg.Accounts(a); err != nil {
			return nil, err
		}
	}
	if s.cfg.Open != nil {
		return s.cfg.Open(ctx, a, o)
	}
	return a.Open(ctx, o)
}

// surveyRemotes is readRemotes for a survey.
func (s *Service) surveyRemotes(ctx context.Context, in *ingest.Ingester, all []source.Address, visit func(retrieval.Put) error, progress func(ingest.Progress)) (total ingest.Report, err error) {
	for _, a := range all {
		from := s.remoteOf(a, "estimates", s.cfg.Namespace)
		from.Quota = 0 // the estimate is to include everything
		report, err := in.SurveyRemote(ctx, from, visit, progress)
		total.Add(report)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// remoteRoot returns the root of a source, and whether it is recorded.
func (s *Service) remoteRoot(ctx context.Context, namespace, address string) (retrieval.Root, bool, error) {
	roots, err := s.cfg.Store.Roots(ctx, namespace)
	if err != nil {
		return retrieval.Root{}, false, fmt.Errorf("read the ingested roots: %w", err)
	}
	if at := slices.IndexFunc(roots, func(r retrieval.Root) bool { return r.Path == address }); at >= 0 {
		return roots[at], true, nil
	}
	return retrieval.Root{Path: address}, false, nil
}

func (s *Service) putWishes(ctx context.Context, namespace string, root retrieval.Root, w wishes) error {
	text, err := json.Marshal(w)
	if err == nil {
		root.Source = string(text)
		err = s.cfg.Corpus.Apply(ctx, retrieval.Batch{Namespace: namespace, PutRoots: []retrieval.Root{root}})
	}
	if err != nil {
		return fmt.Errorf("record a source: %w", err)
	}
	return nil
}

func (s *Service) putRun(ctx context.Context, namespace, address string, r SourceRun) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = s.cfg.Corpus.Apply(ctx, retrieval.Batch{Namespace: namespace, PutStates: []retrieval.Root{{Path: address, State: string(text)}}})
	}
	if err != nil {
		return fmt.Errorf("record the run of a source: %w", err)
	}
	return nil
}

// decodeWishes and decodeRun read what is stored of a source. Damaged text gives no wishes, and no run.
func decodeWishes(text string) (w wishes) {
	if json.Unmarshal([]byte(text), &w) != nil {
		return wishes{Remote: true}
	}
	w.Remote = true
	return w
}

func decodeRun(text string) (r SourceRun) {
	if text == "" || json.Unmarshal([]byte(text), &r) != nil {
		return SourceRun{}
	}
	return r
}
