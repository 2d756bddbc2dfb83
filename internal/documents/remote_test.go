package documents

import (
	"testing"
	"time"

	"parley/internal/documents/ingest"
)

// The time after which the documents of a lost source are deleted runs for sources that cannot be read.
func TestSourceRun_OfASourceAboveItsQuotaIsNoLoss(t *testing.T) {
	since := time.Now().Add(-time.Hour).UTC()
	for _, full := range []bool{false, true} {
		r := SourceRun{FailingSince: since}
		err := &ingest.RemoteError{Reason: "why", Full: full}
		r.end(ingest.Report{}, err, err)
		if r.Error != "why" || r.FailingSince.IsZero() != full {
			t.Errorf("full %t: %+v", full, r)
		}
	}
}
