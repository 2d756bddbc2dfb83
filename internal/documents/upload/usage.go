package upload

import (
	"fmt"
	"path"
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
	ofOwner := func(name string, n int64) {
		if u.All += n; name == ownerFolder(owner) {
			u.Owner += n
		}
	}
	namespaces, err := s.files.Folders(published)
	for _, namespace := range namespaces {
		if err == nil {
			err = s.sizes(path.Join(published, namespace.Name), ofOwner)
		}
	}
	if err == nil {
		err = s.sizes(kept, ofOwner)
	}
	if err == nil {
		err = s.sizes(staged, func(job string, n int64) {
			u.All += n
			u.Staged[strings.ToUpper(job)] = n
		})
	}
	if err != nil {
		return u, fmt.Errorf("add up the uploads: %w", err)
	}
	return u, nil
}

// sizes calls add with the name of each folder in a folder, and the size of the files in it.
func (s *Store) sizes(folder string, add func(name string, n int64)) error {
	folders, err := s.files.Folders(folder)
	if err != nil {
		return err
	}
	for _, in := range folders {
		files, err := s.files.List(path.Join(folder, in.Name))
		if err != nil {
			return err
		}
		var n int64
		for _, f := range files {
			n += f.Size
		}
		add(in.Name, n)
	}
	return nil
}

// StagedJobs returns the ids of the jobs with staged files.
func (s *Store) StagedJobs() (ids []string, err error) {
	jobs, err := s.files.Folders(staged)
	if err != nil {
		return nil, fmt.Errorf("list the staged uploads: %w", err)
	}
	for _, job := range jobs {
		ids = append(ids, strings.ToUpper(job.Name))
	}
	return ids, nil
}

// Size returns the size of a published file, or 0 if there is none.
func (s *Store) Size(at Scope, name string) int64 {
	f, err := s.files.Stat(path.Join(Folder(at), name))
	if err != nil {
		return 0
	}
	return f.Size
}
