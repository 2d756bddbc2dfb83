package extract

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/mail"
	"strings"

	"parley/internal/extract/codepage"
	"parley/internal/format"
)

var _ = reads("e-mail", reader{read: readMail, looks: func(f *file) bool { return f.isUntold() && looksLikeMail(f.head) }})

// readMail reads a message of the Internet Message Format (RFC 5322) with MIME: who wrote to whom
// and when, and the body. Attachments are documents of their own.
func readMail(ctx context.Context, f *file) (*Document, error) {
	m := mailReader{ctx: ctx, f: f, left: f.limits.TextBytes}
	in := bufio.NewReader(io.NewSectionReader(f.r, 0, f.size))
	header, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	body, err := m.entity(header, in, 0)
	if err != nil {
		return nil, err
	}
	if m.encrypted && body.isEmpty() && len(f.spool.parts) == 0 {
		return nil, &Error{Reason: Encrypted, Detail: "the message is encrypted for its recipients"}
	}
	out := builder{budget: newBudget(f.limits)}
	if err := addMail(ctx, &out, mailFields(header), body, f.spool.parts); err != nil {
		return nil, err
	}
	return &Document{Title: header.text("subject"), Pages: []Page{out.page(0, false)}, Notes: m.notes}, nil
}

// mailField is a line of a message's head that people read.
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

// maxAttachments bounds how many names of attachments stand in the text of a message.
const maxAttachments = 50

// addMail appends a message: its head, its body, and the names of what is attached.
func addMail(ctx context.Context, out *builder, fields []mailField, body mailBody, parts []Part) error {
	var lines []string
	for _, f := range fields {
		if f.value != "" {
			lines = append(lines, f.name+": "+f.value)
		}
	}
	if err := out.add(Paragraph, 0, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if err := body.write(ctx, out); err != nil {
		return err
	}
	var names []string
	for _, p := range parts[:min(len(parts), maxAttachments)] {
		names = append(names, oneLine(cleanText(p.Name)))
	}
	if len(names) == 0 {
		return nil
	}
	return out.add(Paragraph, 0, "Attachments: "+strings.Join(names, ", "))
}

// mailBody is the text of a message in the forms in which it was sent.
type mailBody struct{ plain, html string }

func (b mailBody) isEmpty() bool { return strings.TrimSpace(b.plain+b.html) == "" }

// join appends the body of a part that follows.
func (b *mailBody) join(o mailBody) {
	if o.plain != "" {
		b.plain = strings.TrimLeft(b.plain+"\n\n"+o.plain, "\n")
	}
	b.html += o.html
}

// write appends the body. Where there are both forms the text without markup is taken, unless it
// only says that there is another form.
func (b mailBody) write(ctx context.Context, out *builder) error {
	words := len(strings.Fields(b.plain))
	if b.html != "" && (words == 0 || words*3 < len(strings.Fields(flatHTML(b.html)))) {
		return addWholeHTML(out, b.html)
	}
	return addPlain(ctx, out, b.plain)
}

// mailReader takes a message apart.
type mailReader struct {
	ctx       context.Context //nolint:containedctx // it lives as long as the one call that made it
	f         *file
	left      int64 // bytes of body that may still come
	encrypted bool
	notes     []string
}

// mailHeader are the fields of a message or a part of one, by name in small letters.
type mailHeader map[string][]string

// The bounds of a header.
const (
	headerBytes  = 1 << 20
	headerFields = 2000
)

// readHeader reads fields up to the first blank line, and forgives what is not one.
func readHeader(in *bufio.Reader) (mailHeader, error) {
	h := mailHeader{}
	name, size, fields := "", 0, 0
	for {
		line, err := in.ReadString('\n')
		if size += len(line); size > headerBytes || fields > headerFields {
			return nil, tooLarge("the head of the message has more than %s", megabytes(headerBytes))
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
			return nil, &Error{Reason: Unreadable, Detail: "the file cannot be read to its end"}
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
	return oneLine(cleanText(decodeWords(h.get(name))))
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

// contentType returns a part's media type and parameters, and makes the best of broken ones.
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

// fileName is the name that a part was sent under, "" when it has none.
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
	return attachmentName(decodeWords(name))
}

// attachmentName makes a name one segment of a path.
func attachmentName(name string) string {
	name = strings.NewReplacer("/", "_", `\`, "_").Replace(oneLine(cleanText(name)))
	if name = strings.Trim(name, ". "); len(name) > 200 {
		name = strings.ToValidUTF8(name[len(name)-200:], "")
	}
	return name
}

// numberedName is the name of the next part that has none, by its media type.
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
	return fmt.Sprintf("attachment-%d%s", len(m.f.spool.parts)+1, ext)
}
