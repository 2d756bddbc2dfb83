package mail

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"mime/quotedprintable"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/extract/rtf"
	"parley/internal/format"
)

// maxMailDepth is the maximum depth of parts inside each other.
const maxMailDepth = 20

// entity reads a message or one of its parts after the header h, and returns the text that belongs to the body of the
// message.
func (m *mailReader) entity(h mailHeader, in io.Reader, depth int) (mailBody, error) {
	if err := m.ctx.Err(); err != nil {
		return mailBody{}, err
	}
	media, params := h.contentType()
	disposition, _, _ := strings.Cut(strings.ToLower(h.get("content-disposition")), ";")
	name := h.fileName(params)
	switch {
	case strings.HasPrefix(media, "multipart/") && params["boundary"] != "" && depth < maxMailDepth:
		return m.multipart(media, params["boundary"], in, depth)
	case media == "application/pkcs7-mime" && params["smime-type"] != "signed-data", media == "application/pgp-encrypted":
		m.encrypted = true
		return mailBody{}, nil
	case strings.HasPrefix(media, "text/") && strings.TrimSpace(disposition) != "attachment" && name == "",
		strings.HasPrefix(media, "multipart/"):
		return m.text(media, params["charset"], h, in)
	case isMailFurniture(media, h, name):
		return mailBody{}, nil
	case m.encrypted && media == "application/octet-stream": // the other part of an encrypted message
		return mailBody{}, nil
	}
	return mailBody{}, m.attach(media, name, h, in)
}

// isMailFurniture reports whether a part is a picture of the page, a signature, or a delivery report.
func isMailFurniture(media string, h mailHeader, name string) bool {
	switch media {
	case "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature", "message/delivery-status":
		return true
	}
	return strings.HasPrefix(media, "image/") && (h.get("content-id") != "" || name == "")
}

// multipart reads parts. It keeps one text of each form of alternatives, and joins other parts.
func (m *mailReader) multipart(media, boundary string, in io.Reader, depth int) (mailBody, error) {
	var body mailBody
	parts := multipart.NewReader(in, boundary)
	for {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case m.ctx.Err() != nil:
			return body, m.ctx.Err()
		case err != nil:
			m.notes = append(m.notes, "the message is cut off or broken, and was read up to there")
			return body, nil //nolint:nilerr // the message is what was read so far
		}
		h := mailHeader{}
		for key, values := range part.Header {
			h[strings.ToLower(key)] = values
		}
		text, err := m.entity(h, part, depth+1)
		if err != nil {
			return body, err
		}
		if media == "multipart/alternative" {
			body.plain, body.html = compose.First(body.plain, text.plain), compose.First(body.html, text.html)
		} else {
			body.join(text)
		}
	}
}

// text reads a part of the body.
func (m *mailReader) text(media, charset string, h mailHeader, in io.Reader) (mailBody, error) {
	data, err := io.ReadAll(io.LimitReader(transferDecoder(h, in), m.left+1))
	if m.left -= int64(len(data)); m.left < 0 {
		return mailBody{}, m.f.Limits.TextExceeded()
	}
	if err != nil && len(data) == 0 {
		m.notes = append(m.notes, "a part of the message is cut off or broken")
		return mailBody{}, nil
	}
	text, err := compose.DecodeText(data, strings.ToLower(charset))
	if err != nil {
		m.notes = append(m.notes, "a part of the message is not text in an encoding that is known here")
		return mailBody{}, nil //nolint:nilerr // the rest of the message is read
	}
	if media == "text/html" {
		return mailBody{html: text}, nil
	}
	if media == "text/calendar" || media == "text/x-vcard" || media == "text/vcard" {
		return mailBody{}, nil
	}
	return mailBody{plain: text}, nil
}

// attach extracts an attachment.
func (m *mailReader) attach(media, name string, h mailHeader, in io.Reader) error {
	content := transferDecoder(h, in)
	if media == "message/rfc822" || media == "message/global" {
		content, name = m.message(content, name)
	}
	if name == "" {
		name = m.numberedName(media)
	}
	return m.f.Spool.Add(m.ctx, name, content)
}

// message names an attached message after its subject.
func (m *mailReader) message(content io.Reader, name string) (io.Reader, string) {
	if format.Ext(name) == "eml" {
		return content, name
	}
	const looked = 64 << 10
	in := bufio.NewReaderSize(content, looked)
	head, _ := in.Peek(looked) // fewer bytes are all that there are
	if h, err := readHeader(bufio.NewReader(bytes.NewReader(head))); err == nil {
		name = compose.First(compose.AttachmentName(h.text("subject")), name)
	}
	if name != "" {
		name += ".eml"
	}
	return in, name
}

// transferDecoder undoes the transfer encoding of a part.
func transferDecoder(h mailHeader, in io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(h.get("content-transfer-encoding"))) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &base64Cleaner{r: in})
	case "quoted-printable":
		return quotedprintable.NewReader(in)
	}
	return in
}

// base64Cleaner drops characters outside the alphabet, as RFC 2045 section 6.8 requires, and completes a truncated last
// group.
type base64Cleaner struct {
	r    io.Reader
	n    int // characters so far
	done bool
}

func (b *base64Cleaner) Read(p []byte) (int, error) {
	for {
		n, err := b.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			switch {
			case rtf.IsLetter(c), c >= '0' && c <= '9', c == '+', c == '/':
				if !b.done {
					p[kept] = c
					kept++
				}
			case c == '=':
				b.done = true // nothing after padding is content
			}
		}
		b.n += kept
		if errors.Is(err, io.EOF) && kept == 0 {
			return b.pad(p)
		}
		if kept > 0 || err != nil && !errors.Is(err, io.EOF) {
			return kept, ignoreEOF(err)
		}
	}
}

// pad writes the padding of the last group, or drops its single character.
func (b *base64Cleaner) pad(p []byte) (int, error) {
	n := copy(p, "=="[:(4-b.n%4)%4%3])
	b.n += n
	return n, io.EOF
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
