package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// mailAccount is the mail of an account on an IMAP server (RFC 3501). Each message is an object, in the folder of its
// mailbox and under its unique number there. Nothing is changed: messages that are unread stay so.
type mailAccount struct {
	*sessions[*mailSession]
	mailbox string // the one that is read with those below it, with "/" between names; "" for all
	user    string
	most    int64

	asksRights bool
}

type mailSession struct {
	*line
	client   *imapclient.Client
	examined string
	validity uint32 // changes when the numbers of the examined mailbox's messages are given anew
}

func (s *mailSession) Close() error {
	err := s.line.Close()
	_ = s.client.Close() // it can tell the server nothing any more
	return err
}

func openIMAP(_ context.Context, at *url.URL, o Options) (Source, error) {
	if o.User == "" || o.Secret == "" {
		return nil, errors.New("it needs a user and a secret, in the setting sources")
	}
	return newMailAccount(at, o, &tls.Config{ServerName: at.Hostname(), MinVersion: tls.VersionTLS12}), nil
}

func newMailAccount(at *url.URL, o Options, secure *tls.Config) *mailAccount {
	m := &mailAccount{mailbox: strings.Trim(at.Path, "/"), user: o.User, most: o.MaxBytes, asksRights: o.Rights}
	m.sessions = &sessions[*mailSession]{
		dial:    func(ctx context.Context) (*mailSession, error) { return dialIMAP(ctx, at, o.Account, secure) },
		refused: isIMAPAnswer, pause: callPause,
	}
	return m
}

// dialIMAP connects and signs in, always encrypted: from the start with imaps, before the password with imap.
func dialIMAP(ctx context.Context, at *url.URL, account Account, secure *tls.Config) (s *mailSession, err error) {
	port := "993"
	if at.Scheme == "imap" {
		port = "143"
	}
	l, err := dialLine(ctx, at.Hostname(), cmp.Or(at.Port(), port))
	if err != nil {
		return nil, err
	}
	hello := l.begin(ctx, dialTime, maxHello)
	defer func() {
		if err = hello.end(err); err != nil {
			l.Close()
		}
	}()
	s = &mailSession{line: l}
	if at.Scheme == "imap" {
		if s.client, err = imapclient.NewStartTLS(l, &imapclient.Options{TLSConfig: secure}); err != nil {
			return nil, fmt.Errorf("begin an encrypted connection: %w", err)
		}
	} else {
		conn := tls.Client(l, secure)
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("begin an encrypted connection: %w", err)
		}
		s.client = imapclient.New(conn, nil)
		if err := s.client.WaitGreeting(); err != nil {
			return nil, errors.New("the server does not greet as an IMAP server")
		}
	}
	if err := s.client.Login(account.User, account.Secret).Wait(); err != nil {
		s.client.Close()
		if isIMAPAnswer(err) {
			return nil, errors.New("the server refuses the user and the secret")
		}
		return nil, fmt.Errorf("sign in: %w", err)
	}
	return s, nil
}

// isIMAPAnswer reports whether an error is a refusal of the server.
func isIMAPAnswer(err error) bool { return errors.As(err, new(*imap.Error)) }

// passedOver are mailboxes that are read only if they are named: nobody wants to find their messages, or the messages are elsewhere too.
var passedOver = []imap.MailboxAttr{imap.MailboxAttrTrash, imap.MailboxAttrJunk, imap.MailboxAttrDrafts, imap.MailboxAttrAll, imap.MailboxAttrFlagged}

// Objects implements Source.
func (m *mailAccount) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		boxes, err := m.mailboxes(ctx)
		if err != nil {
			yield(Object{}, err)
			return
		}
		for _, box := range boxes {
			all, err := m.messages(ctx, box)
			if err != nil && isIMAPAnswer(err) {
				err = &HiddenError{box.Path, errors.New("the server refuses to open this mailbox")}
			}
			if err != nil {
				if !yield(Object{Path: box.Path}, err) || !errors.As(err, new(*HiddenError)) {
					return
				}
				continue
			}
			for _, o := range all {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// mailboxes returns the mailboxes that are read, by path, with their names as keys.
func (m *mailAccount) mailboxes(ctx context.Context) (boxes []Object, err error) {
	var all []*imap.ListData
	s, err := m.use(ctx, func(s *mailSession) error {
		asked := s.begin(ctx, callTime, maxAnswer)
		options := &imap.ListOptions{ReturnSpecialUse: s.client.Caps().Has(imap.CapSpecialUse)}
		var err error
		all, err = s.client.List("", "*", options).Collect()
		return asked.end(err)
	})
	if err != nil {
		return nil, err
	}
	m.put(s)
	named := false
	for _, box := range all {
		p := box.Mailbox
		if box.Delim != 0 && box.Delim != '/' {
			p = strings.ReplaceAll(strings.ReplaceAll(p, "/", "_"), string(box.Delim), "/")
		}
		is := p == m.mailbox || strings.EqualFold(p, "INBOX") && strings.EqualFold(m.mailbox, "INBOX")
		named = named || is
		has := func(a imap.MailboxAttr) bool { return slices.Contains(box.Attrs, a) }
		switch {
		case !is && m.mailbox != "" && !strings.HasPrefix(p, m.mailbox+"/"), has(imap.MailboxAttrNoSelect), has(imap.MailboxAttrNonExistent):
		case is || !slices.ContainsFunc(passedOver, has):
			boxes = append(boxes, Object{Path: p, key: box.Mailbox})
		}
	}
	if m.mailbox != "" && !named {
		return nil, errors.New("the account has no such mailbox")
	}
	slices.SortFunc(boxes, func(a, b Object) int { return cmp.Compare(a.Path, b.Path) })
	return boxes, nil
}

// examine opens a mailbox for reading.
func (s *mailSession) examine(name string) (*imap.SelectData, error) {
	s.examined = ""
	data, err := s.client.Select(name, &imap.SelectOptions{ReadOnly: true}).Wait()
	if err == nil {
		s.examined, s.validity = name, data.UIDValidity
	}
	return data, err
}

// messages returns the messages of a mailbox.
func (m *mailAccount) messages(ctx context.Context, box Object) (all []Object, err error) {
	var rights *Rights
	if m.asksRights {
		if rights, err = m.rightsOf(ctx, box); err != nil {
			return nil, err
		}
	}
	s, err := m.use(ctx, func(s *mailSession) error {
		all = nil
		asked := s.begin(ctx, callTime, maxAnswer)
		data, err := s.examine(box.key)
		if err = asked.end(err); err != nil || data.NumMessages == 0 {
			return err
		}
		within := callTime + time.Duration(min(data.NumMessages, MaxObjects))*time.Millisecond
		asked = s.begin(ctx, within, maxAnswer)
		listing := s.client.Fetch(imap.UIDSet{imap.UIDRange{Start: 1}}, &imap.FetchOptions{UID: true, RFC822Size: true, Flags: true})
		for message := listing.Next(); message != nil; message = listing.Next() {
			told, err := message.Collect()
			if err != nil {
				return asked.end(err)
			}
			if told.UID == 0 || slices.Contains(told.Flags, imap.FlagDeleted) {
				continue
			}
			all = append(all, Object{
				Rights: rights,
				Path:   fmt.Sprintf("%s/%d.eml", box.Path, told.UID), Size: told.RFC822Size,
				Version: fmt.Sprintf("%d %d", s.validity, told.UID), key: fmt.Sprintf("%d %d %s", s.validity, told.UID, box.key),
			})
		}
		return asked.end(listing.Close())
	})
	if err == nil {
		m.put(s)
	}
	return all, err
}

// goneError is like what a server says of a message that is gone: the session can still be used.
func goneError(text string) error { return &imap.Error{Type: imap.StatusResponseTypeNo, Text: text} }

// Open implements Source.
func (m *mailAccount) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	var validity, uid uint32
	if _, err := fmt.Sscanf(o.key, "%d %d ", &validity, &uid); err != nil {
		return nil, fmt.Errorf("read the key of a message: %w", err)
	}
	name := strings.SplitN(o.key, " ", 3)[2]
	b := &sessionBody[*mailSession]{of: m.sessions, whole: true}
	s, err := m.use(ctx, func(s *mailSession) (err error) {
		b.request = s.begin(ctx, timeFor(o, m.most), m.most+m.most/4+maxHello)
		defer func() {
			if err != nil {
				err = b.request.end(err)
			}
		}()
		if s.examined != name {
			if _, err := s.examine(name); err != nil {
				return err
			}
		}
		if s.validity != validity {
			return goneError("the mailbox was made anew")
		}
		whole := &imap.FetchItemBodySection{Peek: true}
		fetch := s.client.Fetch(imap.UIDSetNum(imap.UID(uid)), &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{whole}})
		if b.Reader, err = bodyOf(fetch, whole); err != nil {
			return err
		}
		b.finish = fetch.Close
		return nil
	})
	if err != nil && isIMAPAnswer(err) {
		return nil, fmt.Errorf("the message is not there any more: %w", ErrRefused)
	}
	b.session = s
	return b, err
}

// bodyOf returns the content of the message that is fetched.
func bodyOf(fetch *imapclient.FetchCommand, section *imap.FetchItemBodySection) (io.Reader, error) {
	for message := fetch.Next(); message != nil; message = fetch.Next() {
		for item := message.Next(); item != nil; item = message.Next() {
			if body, ok := item.(imapclient.FetchItemDataBodySection); ok && body.Literal != nil && body.MatchCommand(section) {
				return body.Literal, nil
			}
		}
	}
	if err := fetch.Close(); err != nil {
		return nil, err
	}
	return nil, goneError("there is no such message")
}
