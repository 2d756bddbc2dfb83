package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/url"
	"path"
	"slices"

	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"
)

// sftpFolder is a folder of an SFTP server.
type sftpFolder struct {
	*sessions[*sftpSession]
	base string // "." is the account's own folder
	most int64

	asksRights bool
	ids        ids                // names of the server's users and groups
	passing    map[string]readers // who can reach the files of a folder, by its path; only for folders still to be listed
}

type sftpSession struct {
	*line
	client *sftp.Client
}

func (s *sftpSession) Close() error {
	err := s.line.Close()
	_ = s.client.Close() // it waits for its goroutines, and can tell the server nothing any more
	return err
}

// The limits of a session of SFTP.
const (
	maxHello  = 1 << 20 // bytes until the server can be asked
	sftpChunk = 1 << 20 // bytes that are asked for at once
)

func openSFTP(_ context.Context, at *url.URL, o Options) (Source, error) {
	host, port := at.Hostname(), cmp.Or(at.Port(), "22")
	if o.User == "" {
		return nil, errors.New("it needs a user; name one in the address or in the setting sources")
	}
	auth, err := sshAccount(o.User, net.JoinHostPort(host, port), o)
	if err != nil {
		return nil, err
	}
	config, err := auth.ClientConfig()
	if err != nil {
		return nil, err
	}
	f := &sftpFolder{base: cmp.Or(at.Path, "."), most: o.MaxBytes, asksRights: o.Rights}
	f.sessions = &sessions[*sftpSession]{
		dial:    func(ctx context.Context) (*sftpSession, error) { return dialSFTP(ctx, host, port, config) },
		refused: isSFTPAnswer, pause: callPause,
	}
	return f, nil
}

func dialSFTP(ctx context.Context, host, port string, config *gossh.ClientConfig) (s *sftpSession, err error) {
	l, err := dialLine(ctx, host, port)
	if err != nil {
		return nil, err
	}
	hello := l.begin(ctx, dialTime, maxHello)
	defer func() {
		if err = hello.end(err); err != nil {
			l.Close()
		}
	}()
	conn, channels, requests, err := gossh.NewClientConn(l, net.JoinHostPort(host, port), config)
	if err != nil {
		return nil, err
	}
	client, err := sftp.NewClient(gossh.NewClient(conn, channels, requests))
	if err != nil {
		return nil, fmt.Errorf("the server has no SFTP: %w", err)
	}
	return &sftpSession{l, client}, nil
}

// isSFTPAnswer reports whether an error is what the server says of a file.
func isSFTPAnswer(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.As(err, new(*sftp.StatusError)) ||
		errors.As(err, new(unprovedError)) || errors.Is(err, changedError{})
}

// Objects implements Source.
func (f *sftpFolder) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return walk(func(dir string) ([]entry, error) {
		if f.asksRights && dir == "." {
			if err := f.readAbove(ctx); err != nil {
				return nil, err
			}
		}
		return f.list(ctx, dir)
	})
}

// list returns the entries of a folder, sorted by path.
func (f *sftpFolder) list(ctx context.Context, dir string) (all []entry, err error) {
	var infos []fs.FileInfo
	s, err := f.use(ctx, func(s *sftpSession) error {
		asked := s.begin(ctx, callTime, maxAnswer)
		var err error
		infos, err = s.client.ReadDirContext(ctx, path.Join(f.base, dir))
		return asked.end(err)
	})
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil, &HiddenError{dir, err}
	case err != nil:
		return nil, err
	}
	f.put(s)
	for _, i := range infos {
		e := entry{Object: Object{Path: path.Join(dir, i.Name()), Size: i.Size()}}
		e.key = path.Join(f.base, e.Path)
		switch mode := i.Mode(); {
		case mode.IsDir():
			e.folder = true
		case mode&fs.ModeSymlink != 0:
			e.Link = true
		case !mode.IsRegular():
			continue
		}
		e.Version = fmt.Sprintf("%d %d", i.ModTime().Unix(), i.Size())
		if f.asksRights {
			f.setRights(dir, &e, i)
		}
		all = append(all, e)
	}
	delete(f.passing, dir) // each is listed once
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// Open implements Source.
func (f *sftpFolder) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	b := &sessionBody[*sftpSession]{of: f.sessions}
	s, err := f.use(ctx, func(s *sftpSession) error {
		b.request = s.begin(ctx, timeFor(o, f.most), f.most+f.most/4+sftpChunk*2)
		file, err := s.client.Open(o.key)
		if err != nil {
			return b.request.end(err)
		}
		if err := isSeen(file, o); err != nil {
			_ = file.Close() // the file has changed, or could not be checked: that is the error to return
			return b.request.end(err)
		}
		b.Reader, b.finish = bufio.NewReaderSize(file, int(min(max(o.Size+1, 4<<10), sftpChunk))), file.Close
		return nil
	})
	if errors.Is(err, changedError{}) {
		return nil, changedError{}
	}
	if err != nil && isSFTPAnswer(err) {
		return nil, errors.Join(err, ErrRefused)
	}
	b.session = s
	return b, err
}
