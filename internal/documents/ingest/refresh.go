package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"parley/internal/documents/metadata"
)

// Refresh is Run for the given paths at or below recorded roots. The paths are absolute and without symbolic
// links; they may be roots, and they may be gone. Refresh ignores paths that belong to no recorded root, or to
// one that is gone as a whole.
func (in *Ingester) Refresh(ctx context.Context, paths []string, progress func(Progress)) (Report, error) {
	return in.locked("", func(spools string) (Report, error) {
		return in.run(ctx, (*run).changed, paths, spools, progress)
	})
}

// Ignores reports whether a walk of a root passes over a path in it.
func (in *Ingester) Ignores(root, path string) bool {
	rel, ok := within(root, path)
	if !ok {
		return true
	}
	if rel != "." && slices.ContainsFunc(strings.Split(rel, "/"), ignored) {
		return true
	}
	data := realPath(in.cfg.DataDir)
	_, inside := within(data, path)
	return inside && data != ""
}

// changed chooses the targets of a Refresh.
func (r *run) changed(ctx context.Context, paths []string) error {
	roots, err := r.cfg.Store.Roots(ctx, r.cfg.Namespace)
	if err != nil {
		return fmt.Errorf("read the ingested roots: %w", err)
	}
	prefixes := prefixesOf(roots)
	for _, root := range roots {
		if !filepath.IsAbs(root.Path) {
			continue // it is not on this disk
		}
		var scopes []string
		for _, p := range paths {
			if rel, ok := r.covers(root.Path, p); ok {
				scopes = append(scopes, aboutWhat(rel))
			}
		}
		if len(scopes) == 0 {
			continue
		}
		if _, err := os.Stat(root.Path); err != nil {
			r.cfg.Logger.Debug("leave a root alone that is gone", "path", root.Path, "error", err)
			continue
		}
		t := &target{root: root, path: root.Path, prefixes: prefixes, ids: map[string]bool{}, scopes: outermost(scopes), mayBeGone: true}
		if slices.Contains(t.scopes, ".") {
			t.scopes = nil
		}
		r.targets = append(r.targets, t)
	}
	return nil
}

// aboutWhat returns the path to which a change applies: the file that a sidecar describes, the folder
// that a folder file describes, or else the path itself.
func aboutWhat(rel string) string {
	dir, name := path.Split(rel)
	if metadata.IsFolderFile(name) {
		return path.Clean(dir)
	}
	if of, ok := metadata.SidecarOf(name); ok {
		return path.Join(dir, of)
	}
	return rel
}

// outermost leaves out paths that are inside others.
func outermost(paths []string) []string {
	slices.Sort(paths)
	var out []string
	for _, p := range paths {
		if !slices.ContainsFunc(out, func(dir string) bool { return below(dir, p) }) {
			out = append(out, p)
		}
	}
	return out
}

// isGone reports whether an error means that a path does not exist, or that one of its parents is not a
// folder.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
