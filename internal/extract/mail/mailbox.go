package mail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"parley/internal/extract"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("mailbox", extract.Reader{Read: readMailbox, Looks: func(f *extract.File) bool { return f.IsUntold() && mailboxStart.Match(f.Head) }})

// readMailbox extracts the messages of a mailbox file (RFC 4155). Each is a document of its own.
func readMailbox(ctx context.Context, f *extract.File) (*extract.Document, error) {
	in := &mailboxReader{in: bufio.NewReaderSize(io.NewSectionReader(f.Content, 0, f.Size), 64<<10)}
	in.blank = true // the file begins with a separator line
	for n := 1; in.next(); n++ {
		if err := f.Spool.Add(ctx, fmt.Sprintf("message-%04d.eml", n), in); err != nil {
			return nil, err
		}
	}
	return &extract.Document{}, nil
}

// mailboxReader reads one message after the other.
type mailboxReader struct {
	in      *bufio.Reader
	pending []byte // of the line that is being read
	middle  bool   // the next bytes continue a line
	blank   bool   // the last line was blank
	err     error
}

// next skips the rest of the current message and the separator line after it.
func (m *mailboxReader) next() bool {
	if _, err := io.Copy(io.Discard, m); err != nil || m.err != nil {
		return false
	}
	for {
		_, err := m.in.ReadSlice('\n')
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			m.err = err
			return false
		}
	}
	m.middle, m.blank = false, false
	_, err := m.in.Peek(1)
	return err == nil
}

// Read reads the message up to the next separator line.
func (m *mailboxReader) Read(p []byte) (int, error) {
	for len(m.pending) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		if !m.middle {
			start, _ := m.in.Peek(6) // less at the end of the file
			if m.separates(start) {
				return 0, io.EOF
			}
			if bytes.HasPrefix(start, []byte(">From ")) { // quoted, so that it does not separate messages
				_, _ = m.in.Discard(1) // Peek has returned it
			}
		}
		line, err := m.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			m.err = err
		}
		m.blank = !m.middle && len(bytes.TrimSpace(line)) == 0
		m.middle = errors.Is(err, bufio.ErrBufferFull)
		m.pending = line
	}
	n := copy(p, m.pending)
	m.pending = m.pending[n:]
	return n, nil
}

// separates reports whether a line separates messages. Such a line is the first one or follows a blank line.
func (m *mailboxReader) separates(start []byte) bool {
	return m.blank && bytes.HasPrefix(start, []byte("From "))
}

var mailboxStart = lazyregexp.New(`^From \S+.*\r?\n(?:[A-Za-z][A-Za-z0-9-]*:|>From )`)
