package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pkg/sftp"
)

// ids are the names of a server's users and groups.
type ids struct{ users, groups map[uint32]string }

// maxIDs is the number of bytes that are read of a list of users or groups. The rest is ignored.
const maxIDs = 4 << 20

// readAbove reads the names of the server's users and groups, and who may reach what lies in the source.
func (f *sftpFolder) readAbove(ctx context.Context) error {
	var folders []fs.FileInfo
	s, err := f.use(ctx, func(s *sftpSession) error {
		asked := s.begin(ctx, callTime, 2*maxIDs+maxHello)
		var err error
		if f.ids.users, err = s.names("/etc/passwd"); err == nil {
			f.ids.groups, err = s.names("/etc/group")
		}
		if err == nil {
			folders, err = s.above(f.base)
		}
		return asked.end(err)
	})
	switch {
	case err != nil && isSFTPAnswer(err):
		return fmt.Errorf("it is not known who may see its files: %w. Name users and groups in the entry instead of source_rights", err)
	case err != nil:
		return err
	}
	f.put(s)
	through := readers{{kind: everybody}: true}
	for _, folder := range folders {
		p, ok := f.ids.posix(folder)
		if !ok {
			return errNoSFTPRights
		}
		through = both(through, p.readersFor("x"))
	}
	f.passing = map[string]readers{".": through}
	return nil
}

// unprovedError says why a server's answer does not prove who may see its files.
type unprovedError string

func (e unprovedError) Error() string { return string(e) }

var errNoSFTPRights = errors.New("the server does not say to whom its files belong. Name users and groups in the entry instead of source_rights")

// names reads a file with lines "name:password:number:…", as /etc/passwd and /etc/group have them.
func (s *sftpSession) names(file string) (map[uint32]string, error) {
	r, err := s.client.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err == nil {
		err = checkNames(info)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxIDs))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	all := map[uint32]string{}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 4)
		if len(parts) < 4 {
			continue
		}
		if n, err := strconv.ParseUint(parts[2], 10, 32); err == nil && all[uint32(n)] == "" {
			all[uint32(n)] = parts[0]
		}
	}
	return all, nil
}

// checkNames returns an error for a file of names that others than the server's administrator may write.
func checkNames(info fs.FileInfo) error {
	stat, ok := info.Sys().(*sftp.FileStat)
	switch {
	case !ok:
		return unprovedError("the server does not say to whom it belongs")
	case stat.UID != 0 || stat.Mode&0o022 != 0:
		return unprovedError("others than the server's administrator may write it")
	}
	return nil
}

// above returns what the server says of a folder and of all folders above it, at the place to which symbolic links lead.
func (s *sftpSession) above(folder string) (all []fs.FileInfo, err error) {
	at, err := s.client.RealPath(folder)
	if err != nil {
		return nil, fmt.Errorf("find its folder: %w", err)
	}
	for at = path.Clean("/" + at); len(all) <= maxDepth; at = path.Dir(at) {
		info, err := s.client.Lstat(at)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = unprovedError("the server does not say where the symbolic link leads")
		}
		if err != nil {
			return nil, fmt.Errorf("ask for the rights of %s: %w", at, err)
		}
		if all = append(all, info); at == "/" {
			return all, nil
		}
	}
	return nil, unprovedError("its folder lies too deep")
}

// posix returns the access control list of a file; false if the server does not say enough.
func (n ids) posix(info fs.FileInfo) (posix, bool) {
	stat, ok := info.Sys().(*sftp.FileStat)
	if !ok {
		return posix{}, false
	}
	return posixOf(n.users[stat.UID], n.groups[stat.GID], stat.Mode), true
}

// seenOf returns the state of a file and its rights, to tell later whether either has changed.
func seenOf(info fs.FileInfo) string {
	stat, ok := info.Sys().(*sftp.FileStat)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Size, stat.Mtime, stat.Mode, stat.UID, stat.GID)
}

// isSeen returns an error if an open file has changed since it was listed.
func isSeen(file *sftp.File, o Object) error {
	if o.seen == "" {
		return nil
	}
	info, err := file.Stat()
	if err == nil && seenOf(info) != o.seen {
		err = changedError{}
	}
	return err
}

// setRights enters who may read a file, or notes who may pass through a folder, in a folder that was listed.
func (f *sftpFolder) setRights(dir string, e *entry, info fs.FileInfo) {
	p, ok := f.ids.posix(info)
	switch {
	case !ok:
		e.Rights = unknownRights("", "the server does not say to whom it belongs")
	case e.folder:
		f.passing[e.Path] = both(f.passing[dir], p.readersFor("x"))
	default:
		e.seen = seenOf(info)
		e.Rights = both(f.passing[dir], p.readersFor("r")).rights()
	}
}
