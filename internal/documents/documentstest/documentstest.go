// Package documentstest has fakes for tests of packages that use a documents.Service.
package documentstest

import (
	"context"
	"errors"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/ingest"
)

// Reader is a documents.Reader made of functions. Calling a method whose function is nil panics.
type Reader struct {
	OnRead   func(ctx context.Context, w documents.Work) (ingest.Report, error)
	OnSurvey func(ctx context.Context, w documents.Work) (documents.Estimate, error)
	OnForget func(ctx context.Context, namespace, url string) (int, error)
}

var _ documents.Reader = Reader{}

// Read implements documents.Reader.
func (r Reader) Read(ctx context.Context, w documents.Work) (ingest.Report, error) {
	return r.OnRead(ctx, w)
}

// Survey implements documents.Reader.
func (r Reader) Survey(ctx context.Context, w documents.Work) (documents.Estimate, error) {
	return r.OnSurvey(ctx, w)
}

// Forget implements documents.Reader.
func (r Reader) Forget(ctx context.Context, namespace, url string) (int, error) {
	return r.OnForget(ctx, namespace, url)
}

// Disk is a documents.Disk without blobs. It takes an error as "disk full" if the error wraps Full; a
// nil Full means never.
type Disk struct{ Full error }

var _ documents.Disk = Disk{}

// SweepBlobs implements documents.Disk.
func (Disk) SweepBlobs(context.Context, time.Duration) (int, error) { return 0, nil }

// DropBlobs implements documents.Disk.
func (Disk) DropBlobs(context.Context, []string) error { return nil }

// IsFull implements documents.Disk.
func (d Disk) IsFull(err error) bool { return d.Full != nil && errors.Is(err, d.Full) }
