package documents

import (
	"context"
	"errors"
	"os"
	"path"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/source"
	"parley/internal/format"
)

// SourceEstimate estimates what the first run of a source would read. It is based only on the list of the source's objects.
type SourceEstimate struct {
	Objects int           // that may become documents
	Bytes   int64         // of them, as far as the source says
	Time    time.Duration // roughly
	Tokens  int           // of their text, roughly
	Cut     bool          // there are more objects, or the source takes longer to list them
}

// The limits of an estimate.
const (
	estimateTime    = 30 * time.Second
	estimateObjects = 100_000
)

// The assumed costs of reading, see docs/measurements.md. Binary formats hold little text beside their pictures and fonts.
const (
	objectTime     = 50 * time.Millisecond // to fetch and store one
	readSpeed      = 1_000_000             // bytes a second, of the slower formats
	bytesPerToken  = 4
	binaryPerToken = 60
)

// EstimateSource lists the objects of a source and reads none of them. It fetches a git repository for that, and then deletes the copy.
// A *ingest.RemoteError means that the source cannot be listed.
func (s *Service) EstimateSource(ctx context.Context, namespace, address string) (e SourceEstimate, err error) {
	if _, known, err := s.remoteRoot(ctx, namespace, address); err != nil || !known {
		return e, errors.Join(err, ErrNoSource)
	}
	a, err := source.Parse(address)
	if err != nil {
		return e, err
	}
	cache, err := s.reading.temporary("estimate")
	if err != nil {
		return e, err
	}
	defer os.RemoveAll(cache)
	within, cancel := context.WithTimeout(ctx, estimateTime)
	defer cancel()
	opened, err := s.open(within, a, cache, false)
	switch {
	case ctx.Err() != nil:
		return e, ctx.Err()
	case within.Err() != nil:
		return e, &ingest.RemoteError{Address: address, Reason: "it takes longer than " + estimateTime.String()}
	case err != nil:
		return e, &ingest.RemoteError{Address: address, Reason: err.Error()}
	}
	defer opened.Close()
	for o, err := range opened.Objects(within) {
		if errors.As(err, new(*source.HiddenError)) || err == nil && (o.Link || !s.reading.supports(path.Base(o.Path), nil)) {
			continue
		}
		if ctx.Err() != nil {
			return e, ctx.Err()
		}
		if within.Err() != nil || e.Objects == estimateObjects {
			e.Cut = true
			break
		}
		if err != nil {
			return e, &ingest.RemoteError{Address: address, Reason: err.Error()}
		}
		e.add(o)
	}
	return e, nil
}

func (e *SourceEstimate) add(o source.Object) {
	size := max(o.Size, 0)
	if size > ingest.MaxFile {
		return
	}
	e.Objects++
	e.Bytes += size
	e.Time += objectTime + time.Duration(float64(size)/readSpeed*float64(time.Second))
	per := int64(bytesPerToken)
	if f := format.ByExtension(format.Ext(o.Path)); f == nil || f.Binary {
		per = binaryPerToken
	}
	e.Tokens += int(size / per)
}
