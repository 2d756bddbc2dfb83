// Package interrupt has waits and reads that end when a context does.
package interrupt

import (
	"context"
	"io"
	"math/rand/v2"
	"time"
)

// Sleep waits for d. It returns ctx.Err() if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Jittered returns an interval up to a tenth longer or shorter, so that processes with the same
// interval do not all start at the same moment.
func Jittered(interval time.Duration) time.Duration {
	return time.Duration(float64(interval) * (0.9 + 0.2*rand.Float64()))
}

// Reader returns a reader of r that fails with ctx.Err() once ctx has ended.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
