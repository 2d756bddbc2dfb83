package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// KeepOut deletes documents that an earlier version made visible to everybody although their front matter restricts
// access in words that Parley does not understand. It returns them by name. It reads the stored originals, not the
// files, so that it also finds documents whose files are no longer ingested. The next run reads the
// files that are still ingested again.
func (in *Ingester) KeepOut(ctx context.Context) (out []FileResult, err error) {
	_, err = in.locked("", func(spools string) (Report, error) {
		r := &rebuild{run: newRun(in.cfg, nil, time.Now(), spools)}
		r.sites.store = in.cfg.Store
		all, err := r.documents(ctx, in.cfg.Namespace)
		if err != nil {
			return Report{}, err
		}
		for _, d := range all {
			if d.Access.Restricted() || strings.HasPrefix(d.Generation, generation) || !mayRestrict(d.MediaType) {
				continue
			}
			reason, err := r.judge(ctx, d)
			if err == nil && reason != nil {
				err = r.keepOut(ctx, d, reason)
				out = append(out, FileResult{Path: d.Name, Reason: reason.Reason, Detail: reason.Detail})
			}
			if err != nil {
				return Report{}, err
			}
		}
		return Report{}, nil
	})
	return out, err
}

// mayRestrict reports whether documents of a media type have front matter.
func mayRestrict(mediaType string) bool { return strings.Contains(mediaType, "markdown") }

// judge returns why a document must be kept out, or nil if it may stay. A document that cannot be read stays as it is.
func (r *rebuild) judge(ctx context.Context, d retrieval.Document) (*extract.Error, error) {
	o, err := r.cfg.Blobs.Open(d.SHA256)
	if err != nil {
		return nil, nil // there is nothing to judge by
	}
	defer o.Close()
	row, _, err := r.origin(ctx, d)
	if err != nil {
		return nil, err
	}
	_, err = r.readJudged(ctx, d, row, extract.Request{Path: o.Name(), Post: r.cfg.Split.encode(), Seen: r.cfg.seen(d.SHA256)})
	reason, ok := errors.AsType[*extract.Error](err)
	switch {
	case err == nil, ok && reason.Reason != BadMetadata:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("read %s: %w", d.Name, err)
	}
	return reason, nil
}

// keepOut deletes a document, and writes the reason into the rows of its files.
func (r *rebuild) keepOut(ctx context.Context, d retrieval.Document, reason *extract.Error) error {
	rows, err := r.cfg.Store.FilesOf(ctx, d.Namespace, d.ID)
	if err != nil {
		return fmt.Errorf("look for the file of %s: %w", d.Name, err)
	}
	b := retrieval.Batch{Namespace: d.Namespace, Delete: []string{d.ID}}
	for _, row := range rows {
		row.DocumentID, row.PutIn, row.Reason, row.Detail = "", "", string(reason.Reason), reason.Detail
		of := b.In(row.Namespace)
		of.PutFiles = append(of.PutFiles, row)
	}
	if err := r.cfg.Corpus.Apply(ctx, b); err != nil {
		return fmt.Errorf("take out %s: %w", d.Name, err)
	}
	return nil
}
