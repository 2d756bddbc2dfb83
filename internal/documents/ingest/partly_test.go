package ingest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
)

// A document that could be read only in part counts as one, and its outcome says so as long as that is
// true.
func TestRun_TellsWhatCouldNotBeReadOfADocument(t *testing.T) {
	const lost = "2 of 3 pages (2–3) have no text layer. A part is cut off."
	b := newBench(t)
	b.write("report.md", "PARTLY readable")
	b.write("whole.md", "Alpha.")
	var told []Outcome
	b.cfg.Outcome = func(o Outcome) { told = append(told, o) }
	for _, known := range []bool{false, true} {
		told = nil
		r := b.run()
		want := []FileResult{{Path: filepath.Join(b.dir, "report.md"), Detail: lost, Known: known}}
		if diff := cmp.Diff(want, r.Partly); diff != "" || len(r.Failed)+len(r.Skipped) > 0 {
			t.Errorf("read in part, known %v (-want +got):\n%s\nfailed %v, skipped %v", known, diff, r.Failed, r.Skipped)
		}
		if got := r.Formats["Markdown"]; got[OutcomePartly] != 1 || got[OutcomeIndexed] != 2 {
			t.Errorf("outcomes by format: %v", r.Formats)
		}
		for _, o := range told {
			if want := map[string]string{"report.md": lost, "whole.md": ""}[o.Path]; o.Detail != want || o.Reason != "" {
				t.Errorf("outcome %+v", o)
			}
		}
		if d := b.corpus.doc(t, "report.md").Document; d.Notes != lost {
			t.Errorf("notes %q", d.Notes)
		}
	}
	b.write("report.md", "Read whole now.")
	if r := b.run(); len(r.Partly) > 0 || b.corpus.doc(t, "report.md").Document.Notes != "" {
		t.Errorf("read whole: %+v", r.Partly)
	}
	b.write("report.md", "DAMAGED")
	r := b.run()
	if len(r.Partly) > 0 || len(r.Failed) != 1 || r.Failed[0].Reason != extract.Damaged {
		t.Errorf("damaged: partly %+v, failed %+v", r.Partly, r.Failed)
	}
}
