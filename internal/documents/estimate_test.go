package documents

import (
	"errors"
	"testing"

	"parley/internal/documents/ingest"
	"parley/internal/documents/source"
)

func TestSourceEstimate_CountsWhatTheSourceSays(t *testing.T) {
	var e SourceEstimate
	for _, o := range []source.Object{
		{Path: "a.md", Size: 4000}, {Path: "b.pdf", Size: 6_000_000}, {Path: "unknown.md", Size: -1}, {Path: "huge.zip", Size: ingest.MaxFile + 1},
	} {
		e.add(o)
	}
	if e.Objects != 3 || e.Bytes != 6_004_000 || e.Tokens != 1000+100_000 || e.Time.Seconds() < 6 || e.Time.Seconds() > 7 {
		t.Errorf("%+v", e)
	}
}

func TestEstimateSource_OfNoneIsAnError(t *testing.T) {
	t.Parallel()
	service := newScanShelf(t).service(nil)
	if _, err := service.EstimateSource(t.Context(), "default", "webdav://127.0.0.1:9/x"); !errors.Is(err, ErrNoSource) {
		t.Error(err)
	}
}
