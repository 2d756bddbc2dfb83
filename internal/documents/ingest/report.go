package ingest

import (
	"cmp"
	"slices"
	"time"

	"parley/internal/documents/crawl"
	"parley/internal/extract"
	"parley/internal/format"
	"parley/internal/retrieval"
)

// BadMetadata is the reason of a file whose sidecar or access rights cannot be read. It is not
// indexed, because it might be shown to somebody who must not see it.
const BadMetadata = extract.BadMetadata

// Report tells what a run did.
type Report struct {
	Indexed    int          // new documents
	Updated    int          // documents with a new revision
	Unchanged  int          // documents whose files are as they were
	Duplicates int          // addresses of the web whose content is that of another one
	Deleted    int          // documents whose files are gone
	Pages      int          // of the new and updated documents, as retrieval.Stats counts them
	Chunks     int          // of the new and updated documents
	Skipped    []FileResult // files with nothing to index: no parser, no text, too large
	Failed     []FileResult // files that should have given a document
	Partly     []FileResult // files of which a part could not be read, in the numbers above too
	Duration   time.Duration

	// Elsewhere counts the documents in other namespaces than that of the run, unchanged ones too.
	Elsewhere map[string]int
	// Formats counts the files of each format by what became of them: Indexed, Opened, or the
	// reason for which they gave no document.
	Formats map[string]map[string]int
}

// What became of a file that was read.
const (
	OutcomeIndexed = "indexed"
	OutcomeOpened  = "opened" // it holds files and no text of its own
	OutcomePartly  = "partly" // one of the others, but a part could not be read; counted beside it
)

// noteFormat counts a file under its format: as it was recognised, or for one that was not read
// again as its name says.
func (r *Report) noteFormat(res result) {
	name, outcome := res.format, OutcomeIndexed
	if name == "" {
		if res.from.target.site != nil && res.from.page == nil {
			return // nobody knows what would have come
		}
		name = format.NameOf(res.from.fileName())
	}
	switch {
	case res.file.Reason != "":
		outcome = res.file.Reason
	case res.file.DocumentID == "":
		outcome = OutcomeOpened
	}
	r.noteOutcome(name, outcome, 1)
	if res.partly() {
		r.noteOutcome(name, OutcomePartly, 1)
	}
}

func (r *Report) noteElsewhere(namespace string, n int) {
	if r.Elsewhere == nil {
		r.Elsewhere = map[string]int{}
	}
	r.Elsewhere[namespace] += n
}

func (r *Report) noteOutcome(format, outcome string, n int) {
	if r.Formats == nil {
		r.Formats = map[string]map[string]int{}
	}
	if r.Formats[format] == nil {
		r.Formats[format] = map[string]int{}
	}
	r.Formats[format][outcome] += n
}

// Outcome is what became of one file that a run has looked at.
type Outcome struct {
	Path       string // below its root, "/"-separated; for a file inside another, that one's path and its name in there
	DocumentID string // "" for a file that gave none
	Reason     extract.Reason
	Detail     string // one sentence for people, where there is a Reason; without one what could not be read of the file
	Unchanged  bool   // it is as the last run left it
	First      bool   // it is the page for which a site was named
	Chunks     int    // of a new or updated document
	Tokens     int    // of these
}

func (r *run) tellOutcome(res result) {
	if r.cfg.Outcome == nil {
		return
	}
	o := Outcome{
		Path: res.file.Path, DocumentID: res.file.DocumentID, Unchanged: res.same, First: res.first,
		Reason: extract.Reason(res.file.Reason), Detail: res.file.Detail,
	}
	if res.put != nil {
		o.Chunks = len(res.put.Chunks)
		for _, c := range res.put.Chunks {
			o.Tokens += c.Tokens
		}
	}
	r.cfg.Outcome(o)
}

// Deleted is the reason of a file whose document was deleted by a request although the file is still
// there. It is not read again until it changes.
const Deleted extract.Reason = "deleted"

// LookAgain makes the row of a file one that the next run reads again, as if it had changed.
func LookAgain(f retrieval.File) retrieval.File {
	f.SHA256, f.ModTime = "", lookAgain
	return f
}

// FileResult is why a file is not in the corpus, or not as a whole.
type FileResult struct {
	Path   string         // absolute, or an address, with what is not printable escaped
	Reason extract.Reason // "" for one that is, but of which a part could not be read
	Detail string         // one sentence for people
	Known  bool           // it was so at an earlier run, and the file was not tried again
	Named  bool           // it is the page for which a site was named, so that it is missed
}

// Add adds what another run did.
func (r *Report) Add(o Report) {
	r.Indexed += o.Indexed
	r.Updated += o.Updated
	r.Unchanged += o.Unchanged
	r.Duplicates += o.Duplicates
	r.Deleted += o.Deleted
	r.Pages += o.Pages
	r.Chunks += o.Chunks
	r.Skipped = append(r.Skipped, o.Skipped...)
	r.Failed = append(r.Failed, o.Failed...)
	r.Partly = append(r.Partly, o.Partly...)
	r.Duration += o.Duration
	for namespace, n := range o.Elsewhere {
		r.noteElsewhere(namespace, n)
	}
	for format, outcomes := range o.Formats {
		for outcome, n := range outcomes {
			r.noteOutcome(format, outcome, n)
		}
	}
}

func (r *Report) sort() {
	byPath := func(a, b FileResult) int { return cmp.Compare(a.Path, b.Path) }
	slices.SortStableFunc(r.Skipped, byPath)
	slices.SortStableFunc(r.Failed, byPath)
	slices.SortStableFunc(r.Partly, byPath)
}

// fail adds a file to the report.
func (r *run) fail(f FileResult) {
	if Refuses(f.Reason) && !f.Named {
		r.report.Skipped = append(r.report.Skipped, f)
		r.meter.skip()
		return
	}
	r.report.Failed = append(r.report.Failed, f)
	r.meter.fail()
}

// Refuses reports whether a reason is nothing to worry about: there is nothing in the file that
// could be read. The other reasons are failures.
func Refuses(reason extract.Reason) bool {
	switch reason {
	case extract.Unsupported, extract.Empty, extract.ScanOnly, extract.TooLarge, Deleted:
		return true
	}
	switch crawl.Reason(reason) {
	case crawl.ByRobots, crawl.NoIndex, crawl.NotFound, crawl.Private, crawl.Redirect, crawl.OutOfSite,
		crawl.Limit, crawl.IsDuplicate, crawl.Reason(removed):
		return true
	}
	return false
}
