package ingest

import (
	"fmt"

	"parley/internal/retrieval"
)

// place returns the namespace into which a file's document goes, where named is what is said of that;
// nil for nothing. The error says why it may not go there.
//
// What a page of the web, or a file attached to a mail, says of that does not count: it comes from
// strangers. They go where their site goes, or the mail.
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

// expected guesses, before a file is read, where its document will go, so that names are given in the
// order of the walk.
func (r *run) expected(c *candidate) string {
	if c.said == nil && c.known.DocumentID != "" {
		return c.known.In()
	}
	namespace, err := r.place(c, c.said)
	if err != nil {
		return r.cfg.Namespace // nothing will come of it
	}
	return namespace
}
