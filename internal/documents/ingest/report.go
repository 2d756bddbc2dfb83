package ingest

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"parley/internal/documents/crawl"
	"parley/internal/extract"
	"parley/internal/format"
	"parley/internal/retrieval"
)

// BadMetadata is the reason of a file whose metadata cannot be read. The file is not indexed, because the
// metadata may restrict who may see it.
const BadMetadata = extract.BadMetadata

// Report is the result of a run.
type Report struct {
	Indexed    int          // new documents
	Updated    int          // documents with a new revision
	Unchanged  int          // documents whose files are as they were
	Duplicates int          // web addresses with the same content as another
	Deleted    int          // documents whose files are gone
	Waiting    int          // files with pages whose text is being recognised: see Recognition
	Pages      int          // of the new and updated documents, as retrieval.Stats counts them
	Chunks     int          // of the new and updated documents
	Skipped    []FileResult // files with nothing to index: no parser, no text, too large
	Failed     []FileResult // files that should have given a document
	Partly     []FileResult // files of which a part could not be read, in the numbers above too
	Duration   time.Duration

	// Elsewhere counts the documents in namespaces other than the run's, including unchanged ones.
	Elsewhere map[string]int
	// Formats counts the files of each format by outcome: OutcomeIndexed, OutcomeOpened, or the reason why
	// they gave no document.
	Formats map[string]map[string]int
}

// The outcomes of a file that was read.
const (
	OutcomeIndexed = "indexed"
	OutcomeOpened  = "opened" // it contains files but no text of its own
	OutcomePartly  = "partly" // one of the others, but a part could not be read; counted beside it
)

// noteFormat counts a file under its recognised format or, if it was not read again, under the format of its name.
func (r *Report) noteFormat(res result) {
	name, outcome := res.format, OutcomeIndexed
	if name == "" {
		if res.from.target.site != nil && res.from.page == nil {
			return // the format is unknown
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

// Outcome is the result for one file or page.
type Outcome struct {
	Path       string // below its root, "/"-separated; a nested file has the path of the enclosing file and its name in it
	DocumentID string // "" for a file that gave none
	Reason     extract.Reason
	Detail     string // one sentence for people: the reason, or without one the part that could not be read
	Unchanged  bool   // since the last run
	First      bool   // it is the page at the URL of a site
	Chunks     int    // of a new or updated document
	Tokens     int    // of these
}

// Reading is what a run has read from one file.
type Reading struct {
	Path     string            // absolute, or an address; unprintable characters are escaped
	Format   string            // "" if unknown
	Title    string            // with which the document is stored; "" without a document
	Document *extract.Document // with its blocks; nil if the file gave none
	Chunks   int               // into which the document was cut
	Reason   extract.Reason    // why the file gives no document; "" if it does, or has only files inside
	Detail   string            // one sentence for people: the reason, or without one the part that could not be read
}

// tellReading passes on what was read from a file, and forgets it.
func (r *run) tellReading(res *result) {
	if r.cfg.Reading == nil || res.same || res.error != nil {
		return
	}
	seen := Reading{
		Path: res.from.display(), Format: res.format, Document: res.doc,
		Reason: extract.Reason(res.file.Reason), Detail: res.file.Detail,
	}
	if res.put != nil {
		seen.Title, seen.Chunks = res.put.Document.Title, len(res.put.Chunks)
	}
	res.doc = nil
	r.cfg.Reading(seen)
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

// LookAgain returns the row of a file so that the next run reads the file again, as if it had changed.
func LookAgain(f retrieval.File) retrieval.File {
	f.SHA256, f.ModTime = "", lookAgain
	return f
}

// FileResult says why a file, or a part of it, is not in the corpus.
type FileResult struct {
	Path   string         // absolute, or an address; unprintable characters are escaped
	Reason extract.Reason // "" for a file of which only a part could not be read
	Detail string         // one sentence for people
	Known  bool           // from an earlier run; the file was not tried again
	Named  bool           // it is the page at the URL of a site, which a user asked for
	// Unclear says that files of a folder were read, but that it is not clear who may read them. They are visible only to
	// people who certainly may.
	Unclear bool
}

// Incomplete reports whether a file failed for a reason other than unclear rights.
func (r *Report) Incomplete() bool {
	return slices.ContainsFunc(r.Failed, func(f FileResult) bool { return !f.Unclear })
}

// Add adds the results of another run.
func (r *Report) Add(o Report) {
	r.Indexed += o.Indexed
	r.Updated += o.Updated
	r.Unchanged += o.Unchanged
	r.Duplicates += o.Duplicates
	r.Deleted += o.Deleted
	r.Waiting += o.Waiting
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
	slices.SortStableFunc(r.Failed, func(a, b FileResult) int {
		if a.Unclear != b.Unclear { // files that cannot be read come first: only some may be shown
			return cmp.Compare(strconv.FormatBool(a.Unclear), strconv.FormatBool(b.Unclear))
		}
		return byPath(a, b)
	})
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

// Refuses reports whether a reason is harmless: the file holds nothing that could be read. Other reasons are
// failures.
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
