package documents

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/access"
	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/documents/upload"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
)

// DeleteAddress deletes the documents at an address, a URL or a citation name, that the caller may change. It
// returns how many there were, or ErrNotFound if there were none.
//
// The file of an uploaded document is deleted too. A web page stays away until somebody asks for it again. A
// file in an ingested folder stays; its document comes back when the file changes.
func (s *Service) DeleteAddress(ctx context.Context, who access.Principal, namespace, address string) (int, error) {
	found, err := s.documentsAt(ctx, retrieval.Filter{Principal: who, Namespace: namespace}, address)
	if err != nil {
		return 0, err
	}
	deleted := 0
	for _, doc := range found {
		if !who.MayChange(doc.Namespace, doc.Owner) {
			continue
		}
		if err := s.deleteDocument(ctx, doc); err != nil {
			return deleted, s.full(err)
		}
		deleted++
	}
	if deleted == 0 {
		return 0, ErrNotFound
	}
	return deleted, nil
}

// documentsAt returns the documents at an address.
func (s *Service) documentsAt(ctx context.Context, f retrieval.Filter, address string) ([]retrieval.Document, error) {
	name := strings.TrimPrefix(address, "file://") // the original server calls an upload file://NAME
	doc, err := s.cfg.Store.Document(ctx, f, name)
	if err == nil {
		return []retrieval.Document{doc}, nil
	}
	if !errors.Is(err, retrieval.ErrNotFound) {
		return nil, fmt.Errorf("look for a document: %w", err)
	}
	return s.cfg.Store.DocumentsAt(ctx, f, spellings(address))
}

// spellings returns the forms in which an address may be stored: normalised, as pages are, or without
// its fragment, with and without a slash at its end. Some servers and proxies merge two slashes into
// one.
func spellings(address string) []string {
	for _, scheme := range []string{"http:/", "https:/"} {
		if rest, ok := strings.CutPrefix(address, scheme); ok && !strings.HasPrefix(rest, "/") {
			address = scheme + "/" + rest
		}
	}
	address, _, _ = strings.Cut(address, "#")
	all := []string{address}
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		u.Host = strings.ToLower(u.Host)
		all = append(all, u.String())
		if strings.HasSuffix(u.Path, "/") {
			all = append(all, strings.TrimSuffix(u.String(), "/"))
		} else if u.RawQuery == "" {
			all = append(all, u.String()+"/")
		}
	}
	if normal, err := crawl.Normalise(address); err == nil {
		all = append(all, normal)
	}
	return all
}

// DeleteDocument deletes one document as DeleteAddress does; the caller has checked the rights. It reports
// whether the document comes back when its file changes.
func (s *Service) DeleteDocument(ctx context.Context, doc retrieval.Document) (returns bool, err error) {
	rows, err := s.cfg.Store.FilesOf(ctx, doc.Namespace, doc.ID)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if _, uploaded := ingest.UploadsOwner(row.Root); !uploaded && !isSite(row.Root) {
			returns = true
		}
	}
	return returns, s.full(s.deleteDocument(ctx, doc))
}

// deleteDocument deletes one document so that it does not come back by itself.
func (s *Service) deleteDocument(ctx context.Context, doc retrieval.Document) error {
	rows, err := s.cfg.Store.FilesOf(ctx, doc.Namespace, doc.ID)
	if err != nil {
		return err
	}
	b := retrieval.Batch{Namespace: doc.Namespace, Delete: []string{doc.ID}}
	for _, row := range rows {
		owner, uploaded := ingest.UploadsOwner(row.Root)
		switch {
		case uploaded && !strings.Contains(row.Path, "/"):
			err := s.DeleteUpload(ctx, upload.Scope{Namespace: doc.Namespace, Owner: owner}, row.Path)
			if err != nil {
				return err
			}
			b.Delete = nil
		case isSite(row.Root):
			p := page{doc.Namespace, doc.URL}
			again, err := s.forget(ctx, p)
			if err != nil {
				return err
			}
			if again {
				s.forgotten.add(p)
			}
			b.Delete = nil
		default:
			of := b.In(row.Namespace)
			row.DocumentID, row.PutIn, row.Reason, row.Detail = "", "", string(ingest.Deleted), "Its document was deleted by a request."
			of.PutFiles = append(of.PutFiles, row)
		}
	}
	if len(b.Delete) == 0 {
		return nil
	}
	if err := s.cfg.Corpus.Apply(ctx, b); err != nil {
		return fmt.Errorf("delete a document: %w", err)
	}
	return nil
}

// page is a page of the web in a namespace.
type page struct{ namespace, url string }

// forgotten are pages that were deleted while a run was reading web sites. That run may store them again, so
// they are deleted once more when it has ended, unless somebody asks for them meanwhile. They are not stored:
// a run that continues after a crash sees what was deleted.
type forgotten struct {
	mu    sync.Mutex
	pages []page
}

func (f *forgotten) add(p page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.pages, p) {
		f.pages = append(f.pages, p)
	}
}

func (f *forgotten) remove(p page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = slices.DeleteFunc(f.pages, func(other page) bool { return other == p })
}

func (f *forgotten) all() []page {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pages)
}

// forget deletes a page, and reports whether to delete it again after the current run.
func (s *Service) forget(ctx context.Context, p page) (again bool, err error) {
	_, err = s.reader.Forget(ctx, p.namespace, p.url)
	switch {
	case errors.As(err, new(*ingest.LockedError)):
		return true, nil
	case errors.Is(err, retrieval.ErrNotFound):
		return false, nil
	}
	return false, err
}

// forgetInterval is the time between two deletions of forgotten pages.
const forgetInterval = time.Second

// keepForgotten deletes forgotten pages again until ctx ends.
func (s *Service) keepForgotten(ctx context.Context) {
	for interrupt.Sleep(ctx, forgetInterval) == nil {
		for _, p := range s.forgotten.all() {
			again, err := s.forget(ctx, p)
			if err != nil && ctx.Err() == nil {
				s.cfg.Logger.Error("delete a page that a run may have stored again", "namespace", p.namespace, "url", p.url, "error", err)
			}
			if !again {
				s.forgotten.remove(p)
			}
		}
	}
}
