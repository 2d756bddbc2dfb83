package ingest

import (
	"fmt"

	"parley/internal/retrieval"
)

// place returns the namespace for a file's document. named is the namespace in the file's metadata, nil
// if there is none. The error says why the document may not go there.
//
// Web pages and files attached to mails cannot name a namespace, because strangers write them. They go
// where their site or the mail goes.
func (r *run) place(c *candidate, named *string) (string, error) {
	switch {
	case c.page != nil:
		return r.cfg.Namespace, nil
	case c.part != nil && c.part.namespace != "":
		return c.part.namespace, nil
	case named == nil || *named == r.cfg.Namespace:
		return r.cfg.Namespace, nil
	}
	if err := retrieval.CheckNamespace(*named); err != nil {
		return "", fmt.Errorf("it names the namespace %q: %w", shortened(*named), err)
	}
	switch {
	case r.cfg.MayName == nil:
		return "", fmt.Errorf("it names the namespace %q, but may only go into %q", *named, r.cfg.Namespace)
	case !r.cfg.MayName(*named):
		return "", fmt.Errorf("it names the namespace %q, which is not one of those that files may name", *named)
	}
	return *named, nil
}

func shortened(s string) string {
	if len(s) > 128 {
		return s[:128] + "\u2026"
	}
	return s
}

// expected predicts the namespace of a file's document before the file is read, so that names are
// assigned in the order of the walk.
func (r *run) expected(c *candidate) string {
	if c.said == nil && c.known.DocumentID != "" {
		return c.known.In()
	}
	namespace, err := r.place(c, c.said)
	if err != nil {
		return r.cfg.Namespace // the file will fail
	}
	return namespace
}
