// Package mail reads e-mail, mailboxes and messages of Outlook. Attachments become documents of their own.
package mail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/mail"
	"strings"
	"time"

	"parley/internal/attribute"
	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/extract/markup"
	"parley/internal/format"
)

var _ = extract.Register("e-mail", extract.Reader{Read: readMail, Looks: func(f *extract.File) bool { return f.IsUntold() && looksLikeMail(f.Head) }})

// readMail reads a message of the Internet Message Format (RFC 5322) with MIME: sender, recipients, date, and the
// body. Attachments are documents of their own.
func readMail(ctx context.Context, f *extract.File) (*extract.Document, error) {
	if strings.HasPrefix(string(f.Head), "\xff\xfe") || strings.HasPrefix(string(f.Head), "\xfe\xff") {
		data, err := f.All(f.Limits.TextBytes)
		if err != nil {
			return nil, err
		}
		f.Replace([]byte(codepage.Decode(data, ""))) // a program saved the whole message as UTF-16
	}
	m := mailReader{ctx: ctx, f: f, left: f.Limits.TextBytes}
	in := bufio.NewReader(io.NewSectionReader(f.Content, 0, f.Size))
	header, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	body, err := m.entity(header, in, 0)
	if err != nil {
		return nil, err
	}
	if m.encrypted && body.isEmpty() && len(f.Spool.Parts) == 0 {
		return nil, &extract.Error{Reason: extract.Encrypted, Detail: "the message is encrypted for its recipients"}
	}
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	if err := addMail(ctx, &out, mailFields(header), body, f.Spool.Parts); err != nil {
		return nil, err
	}
	doc := &extract.Document{Title: header.text("subject"), Pages: []extract.Page{out.Page(0, false)}, Notes: m.notes}
	date, _ := mail.ParseDate(header.text("date"))
	describe(doc, header.text("from"), header.text("to"), date)
	return doc, nil
}

// describe sets the attributes of a message: the names and addresses of the sender and the recipients, and the date.
func describe(doc *extract.Document, from, to string, date time.Time) {
	values := attribute.Values{}
	for key, text := range map[string]string{"from": from, "to": to} {
		people, err := mail.ParseAddressList(text)
		if err != nil {
			values.AddAll(key, text)
		}
		for _, p := range people {
			values.Add(key, p.Name)
			values.Add(key, p.Address)
		}
	}
	if !date.IsZero() {
		values.Add("date", date.Format(time.RFC3339))
	}
	doc.Meta.Attributes = values.Encode()
}

// mailField is a field of a message's header that people read.
type mailField struct{ name, value string }

func mailFields(h mailHeader) []mailField {
	var fields []mailField
	for _, name := range []string{"From", "To", "Cc", "Newsgroups", "Date", "Subject"} {
		value := h.text(strings.ToLower(name))
		if name == "Date" {
			if t, err := mail.ParseDate(value); err == nil {
				value = t.Format("Monday, 2006-01-02 15:04 -0700")
			}
		}
		fields = append(fields, mailField{name, value})
	}
	return fields
}

// maxAttachments is the maximum number of attachments that the text of a message names.
const maxAttachments = 50

// addMail appends a message: its head, its body, and the names of its attachments.
func addMail(ctx context.Context, out *compose.Builder, fields []mailField, body mailBody, parts []extract.Part) error {
	var lines []string
	for _, f := range fields {
		if f.value != "" {
			lines = append(lines, f.name+": "+f.value)
		}
	}
	if err := out.Add(extract.Paragraph, 0, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if err := body.write(ctx, out); err != nil {
		return err
	}
	var names []string
	for _, p := range parts[:min(len(parts), maxAttachments)] {
		names = append(names, compose.OneLine(compose.Clean(p.Name)))
	}
	if len(names) == 0 {
		return nil
	}
	return out.Add(extract.Paragraph, 0, "Attachments: "+strings.Join(names, ", "))
}

// mailBody is the text of a message in the forms in which it was sent.
type mailBody struct{ plain, html string }

func (b mailBody) isEmpty() bool { return strings.TrimSpace(b.plain+b.html) == "" }

// join appends the body of a later part.
func (b *mailBody) join(o mailBody) {
	if o.plain != "" {
		b.plain = strings.TrimLeft(b.plain+"\n\n"+o.plain, "\n")
	}
	b.html += o.html
}

// write appends the body. If there are both forms, it takes the text without markup, unless that is much shorter: then
// it only says that there is another form.
func (b mailBody) write(ctx context.Context, out *compose.Builder) error {
	words := len(strings.Fields(b.plain))
	if b.html != "" && (words == 0 || words*3 < len(strings.Fields(markup.FlatHTML(b.html)))) {
		return markup.AddWholeHTML(out, b.html)
	}
	return markup.AddPlain(ctx, out, b.plain)
}

// mailReader reads a message.
type mailReader struct {
	ctx       context.Context //nolint:containedctx // it lives as long as the one call that made it
	f         *extract.File
	left      int64 // bytes of body that may still come
	encrypted bool
	notes     []string
}

// mailHeader holds the fields of a message or of one of its parts, by name in lower case.
type mailHeader map[string][]string

// The bounds of a header.
const (
	headerBytes  = 1 << 20
	headerFields = 2000
)

// readHeader reads fields up to the first blank line, and skips lines that are not fields.
func readHeader(in *bufio.Reader) (mailHeader, error) {
	h := mailHeader{}
	name, size, fields := "", 0, 0
	for {
		line, err := in.ReadString('\n')
		if size += len(line); size > headerBytes || fields > headerFields {
			return nil, extract.TooLargef("the head of the message has more than %s", extract.Megabytes(headerBytes))
		}
		text := strings.TrimRight(line, "\r\n")
		switch {
		case text == "" && err == nil && len(h) > 0:
			return h, nil
		case text == "":
		case text[0] == ' ' || text[0] == '\t':
			if values := h[name]; len(values) > 0 {
				values[len(values)-1] += " " + strings.TrimSpace(text)
			}
		default:
			key, value, ok := strings.Cut(text, ":")
			if name = ""; ok && !strings.ContainsAny(key, " \t") {
				name = strings.ToLower(key)
				h[name] = append(h[name], strings.TrimSpace(value))
				fields++
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return h, nil
			}
			return nil, &extract.Error{Reason: extract.Unreadable, Detail: "the file cannot be read to its end"}
		}
	}
}

func (h mailHeader) get(name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// text returns a field as people read it: words encoded by RFC 2047 are decoded.
func (h mailHeader) text(name string) string {
	return compose.OneLine(compose.Clean(decodeWords(h.get(name))))
}

func decodeWords(s string) string {
	d := mime.WordDecoder{CharsetReader: func(charset string, in io.Reader) (io.Reader, error) {
		data, err := io.ReadAll(io.LimitReader(in, headerBytes))
		if err != nil {
			return nil, err
		}
		return strings.NewReader(codepage.Decode(data, charset)), nil
	}}
	if text, err := d.DecodeHeader(s); err == nil {
		s = text
	}
	return codepage.Decode([]byte(s), "")
}

// contentType returns a part's media type and parameters. It reads broken ones as far as possible.
func (h mailHeader) contentType() (string, map[string]string) {
	value := h.get("content-type")
	if value == "" {
		return "text/plain", nil
	}
	media, params, err := mime.ParseMediaType(value)
	if err == nil {
		return media, params
	}
	media, rest, _ := strings.Cut(value, ";")
	params = map[string]string{}
	for part := range strings.SplitSeq(rest, ";") {
		if key, v, ok := strings.Cut(part, "="); ok {
			params[strings.ToLower(strings.TrimSpace(key))] = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return strings.ToLower(strings.TrimSpace(media)), params
}

// fileName returns the file name of a part, or "" if it has none.
func (h mailHeader) fileName(params map[string]string) string {
	_, disposition, err := mime.ParseMediaType(h.get("content-disposition"))
	name := disposition["filename"]
	if err != nil || name == "" {
		name = params["name"]
	}
	if name == "" {
		name = mailHeader{"x": {h.get("content-description")}}.text("x")
		if format.Ext(name) == "" {
			return ""
		}
	}
	return compose.AttachmentName(decodeWords(name))
}

// numberedName returns a name for the next part, which has none: a number, and an extension for its media type.
func (m *mailReader) numberedName(media string) string {
	ext := ""
	switch media {
	case "message/rfc822", "message/global":
		ext = ".eml"
	case "text/html":
		ext = ".html"
	case "text/plain":
		ext = ".txt"
	case "text/csv":
		ext = ".csv"
	case "text/calendar":
		ext = ".ics"
	case "application/pdf":
		ext = ".pdf"
	}
	return fmt.Sprintf("attachment-%d%s", len(m.f.Spool.Parts)+1, ext)
}

// looksLikeMail recognises a message by its header: there are only fields before the first blank line, and at least
// three of them are usual in messages.
func looksLikeMail(head []byte) bool {
	lines := strings.Split(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n")
	usual := map[string]bool{}
	for i, line := range lines {
		switch {
		case line == "" || i == len(lines)-1:
			return len(usual) >= 3
		case line[0] == ' ' || line[0] == '\t':
			continue
		}
		name, _, ok := strings.Cut(line, ":")
		if !ok || strings.ContainsAny(name, " \t") || name == "" {
			return false
		}
		switch strings.ToLower(name) {
		case "from", "to", "subject", "date", "message-id", "received", "mime-version", "return-path", "newsgroups":
			usual[strings.ToLower(name)] = true
		}
	}
	return false
}
