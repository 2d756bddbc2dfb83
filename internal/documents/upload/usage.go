package upload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Usage is the size of uploads in bytes.
type Usage struct {
	All    int64            // of all owners, published, kept and staged
	Owner  int64            // of one owner's published files, in all namespaces, and kept files
	Staged map[string]int64 // by the id of the job
}

// Usage returns the current sizes.
func (s *Store) Usage(owner string) (u Usage, err error) {
	u.Staged = map[string]int64{}
	err = eachFolder(filepath.Join(s.dir, "files"), func(namespace string) error {
		return eachFolder(filepath.Join(s.dir, "files", namespace), func(name string) error {
			n, err := sizeOf(filepath.Join(s.dir, "files", namespace, name))
			if u.All += n; name == ownerFolder(owner) {
				u.Owner += n
			}
			return err
		})
	})
	if err == nil {
		err = eachFolder(filepath.Join(s.dir, "kept"), func(name string) error {
			n, err := sizeOf(filepath.Join(s.dir, "kept", name))
			if u.All += n; name == ownerFolder(owner) {
				u.Owner += n
			}
			return err
		})
	}
	if err == nil {
		err = eachFolder(filepath.Join(s.dir, "staged"), func(job string) error {
			n, err := sizeOf(filepath.Join(s.dir, "staged", job))
			u.All += n
			u.Staged[strings.ToUpper(job)] = n
			return err
		})
	}
	if err != nil {
		return u, fmt.Errorf("add up the uploads: %w", err)
	}
	return u, nil
}

// StagedJobs returns the ids of the jobs with staged files.
func (s *Store) StagedJobs() (ids []string, err error) {
	err = eachFolder(filepath.Join(s.dir, "staged"), func(job string) error {
		ids = append(ids, strings.ToUpper(job))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the staged uploads: %w", err)
	}
	return ids, nil
}

// Size returns the size of a published file, or 0 if there is none.
func (s *Store) Size(at Scope, name string) int64 {
	st, err := os.Lstat(filepath.Join(s.Folder(at), name))
	if err != nil {
		return 0
	}
	return st.Size()
}

func eachFolder(dir string, visit func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if err := ignoreMissing(err); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := visit(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf adds up the sizes of the files in a folder. It ignores files that disappear meanwhile.
func sizeOf(dir string) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	if err := ignoreMissing(err); err != nil {
		return 0, err
	}
	for _, e := range entries {
		st, err := e.Info()
		if err := ignoreMissing(err); err != nil {
			return n, err
		}
		if err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
	}
	return n, nil
}
