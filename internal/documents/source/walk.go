package source

import (
	"errors"
	"iter"
	"strings"
)

// maxDepth is the maximum depth of nested folders.
const maxDepth = 100

// entry is an entry of a folder. Its path is relative to the source.
type entry struct {
	Object
	folder bool
	hidden bool // the server does not say what it is
}

// walk lists the files of all folders of a source. list returns the entries of one; "." is the outermost. Its error may be a
// *HiddenError for a folder that may not be listed; for the outermost one that ends the walk too.
func walk(list func(dir string) ([]entry, error)) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		folders, seen := []string{"."}, map[string]bool{".": true}
		for len(folders) > 0 {
			dir := folders[len(folders)-1]
			folders = folders[:len(folders)-1]
			entries, err := list(dir)
			if hidden, ok := errors.AsType[*HiddenError](err); ok && dir == "." {
				err = hidden.Err
			}
			if err != nil {
				if !yield(Object{Path: dir}, err) || !errors.As(err, new(*HiddenError)) {
					return
				}
				continue
			}
			for _, e := range entries {
				switch {
				case e.hidden:
					if !yield(Object{Path: e.Path}, &HiddenError{e.Path, errors.New("the server does not say what is there")}) {
						return
					}
				case !e.folder:
					if !yield(e.Object, nil) {
						return
					}
				case seen[e.Path] || CheckPath(e.Path) != nil:
				case len(seen) > MaxObjects || strings.Count(e.Path, "/") >= maxDepth:
					yield(Object{}, errors.New("the server's folders lie too deep inside one another"))
					return
				default:
					seen[e.Path] = true
					folders = append(folders, e.Path)
				}
			}
		}
	}
}
