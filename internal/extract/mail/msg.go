package mail

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	utf16 "golang.org/x/text/encoding/unicode"

	"parley/internal/extract"
	"parley/internal/extract/cfb"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/extract/markup"
	"parley/internal/extract/rtf"
	"parley/internal/format"
)

var _ = extract.Register("Outlook message", extract.Reader{Read: readMSG})

// readMSG reads a message of Outlook (MS-OXMSG): sender, recipients, date, and the body. Attachments are documents of
// their own; messages among them are converted to the Internet Message Format.
func readMSG(ctx context.Context, f *extract.File) (*extract.Document, error) {
	c, err := cfb.Open(f.Content, f.Size)
	if err != nil {
		return nil, extract.Damagedf("the file is cut off or broken")
	}
	m := msgStore{entry: c.Root(), header: 32, left: &f.Limits.TextBytes}
	if err := m.attach(ctx, f.Spool); err != nil {
		return nil, err
	}
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	message := m.outlook()
	if err := addMail(ctx, &out, message.fields(), message.body(ctx), f.Spool.Parts); err != nil {
		return nil, err
	}
	doc := &extract.Document{Title: m.text(msgSubject), Pages: []extract.Page{out.Page(0, false)}}
	date, _ := message.date()
	describe(doc, message.from(), message.text(msgTo), date)
	return doc, nil
}

// The tags of properties (MS-OXPROPS).
const (
	msgSubject      = 0x0037
	msgSubmitted    = 0x0039
	msgSenderName   = 0x0c1a
	msgSenderMail   = 0x0c1f
	msgSenderSMTP   = 0x5d01
	msgTo           = 0x0e04
	msgCc           = 0x0e03
	msgDelivered    = 0x0e06
	msgBody         = 0x1000
	msgRTF          = 0x1009
	msgHTML         = 0x1013
	msgAttachData   = 0x3701
	msgAttachLong   = 0x3707
	msgAttachShort  = 0x3704
	msgDisplayName  = 0x3001
	msgContentID    = 0x3712
	msgAttachHidden = 0x7ffe
	msgCodePage     = 0x3fde // of the Internet's form
	msgMessagePage  = 0x3ffd
)

// properties are the properties of a message of Outlook, or of an attachment.
type properties interface {
	string(tag int) string   // a text; "" if it is not there
	bytes(tag int) []byte    // a value that is not text
	fixed(tag uint16) uint64 // a value of fixed size; 0 if it is not there
}

// outlook holds the parts of a message that people read.
type outlook struct {
	properties
	left int64 // bytes of text that may be read of one property
}

// msgStore is a message, or an attachment, as a storage of properties.
type msgStore struct {
	entry  *cfb.Entry
	header int64  // bytes before the list of the properties of fixed size
	left   *int64 // bytes of text that may be read of one property
	outer  string // charset of the enclosing message, which applies if this one names none
}

// property returns the stream of a property of a type, or nil if it is not there.
func (m msgStore) property(tag, kind int) *cfb.Entry {
	return m.entry.Named(fmt.Sprintf("__substg1.0_%04X%04X", tag, kind))
}

// The types of properties.
const (
	msgUnicode = 0x001f
	msgANSI    = 0x001e
	msgBinary  = 0x0102
	msgObject  = 0x000d
)

// text returns a property that is text, on one line.
func (m msgStore) text(tag int) string { return compose.OneLine(m.string(tag)) }

func (m msgStore) outlook() outlook { return outlook{m, *m.left} }

func (m msgStore) bytes(tag int) []byte { return m.property(tag, msgBinary).Bytes(*m.left) }

func (m msgStore) string(tag int) string {
	if e := m.property(tag, msgUnicode); e != nil {
		return compose.Clean(codepage.As(utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), e.Bytes(*m.left)))
	}
	data := bytes.TrimRight(m.property(tag, msgANSI).Bytes(*m.left), "\x00")
	return compose.Clean(codepage.Decode(data, m.ansi()))
}

// ansi returns the charset of texts that are not in Unicode.
func (m msgStore) ansi() string {
	return compose.First(compose.First(m.charset(msgMessagePage), m.charset(msgCodePage)), m.outer)
}

// charset returns the charset of the code page that a property names: of texts that are not in Unicode, or of the HTML.
func (m msgStore) charset(tag uint16) string { return codepage.Windows(int(int32(m.fixed(tag)))) }

// maxProperties bounds the properties of fixed size.
const maxProperties = 1 << 20

// fixed returns the value of a property of fixed size (MS-OXMSG section 2.4), or 0 if it is not there.
func (m msgStore) fixed(tag uint16) uint64 {
	data := m.entry.Named("__properties_version1.0").Bytes(maxProperties)
	for at := m.header; at+16 <= int64(len(data)); at += 16 {
		if binary.LittleEndian.Uint16(data[at+2:]) == tag {
			return binary.LittleEndian.Uint64(data[at+8:])
		}
	}
	return 0
}

// text returns a property that is text, on one line.
func (o outlook) text(tag int) string { return compose.OneLine(o.string(tag)) }

// date returns the time when the message was sent or, if that is unknown, delivered.
func (o outlook) date() (time.Time, bool) {
	for _, tag := range []uint16{msgSubmitted, msgDelivered} {
		if ticks := o.fixed(tag); ticks > 0 && ticks < 1<<62 {
			const unix = 11644473600 // seconds from 1601, where ticks begin, to 1970
			return time.Unix(int64(ticks/1e7)-unix, 0).UTC(), true
		}
	}
	return time.Time{}, false
}

func (o outlook) from() string {
	name, address := o.text(msgSenderName), o.text(msgSenderSMTP)
	if address == "" && strings.Contains(o.text(msgSenderMail), "@") {
		address = o.text(msgSenderMail)
	}
	if address == "" || address == name {
		return name
	}
	return strings.TrimSpace(name + " <" + address + ">")
}

func (o outlook) fields() []mailField {
	date := ""
	if t, ok := o.date(); ok {
		date = t.Format("Monday, 2006-01-02 15:04 -0700")
	}
	return []mailField{
		{"From", o.from()}, {"To", o.text(msgTo)}, {"Cc", o.text(msgCc)}, {"Date", date}, {"Subject", o.text(msgSubject)},
	}
}

// body returns the text in the forms that the message has.
func (o outlook) body(ctx context.Context) mailBody {
	b := mailBody{plain: o.string(msgBody)}
	if data := o.bytes(msgHTML); len(data) > 0 {
		b.html = compose.Clean(codepage.Decode(data, compose.First(markup.MetaCharset(data), codepage.Windows(int(int32(o.fixed(msgCodePage)))))))
	} else {
		b.html = o.string(msgHTML)
	}
	if !b.isEmpty() {
		return b
	}
	data := decompressRTF(o.bytes(msgRTF), o.left)
	out := compose.Builder{Budget: &compose.Budget{Left: o.left}}
	if _, err := rtf.AddRTF(ctx, &out, bytes.NewReader(data)); err == nil {
		b.plain = string(out.Text)
	}
	return b
}

// attach extracts the attachments.
func (m msgStore) attach(ctx context.Context, s *extract.Spool) error {
	for _, e := range m.entry.List() {
		if !isAttachment(e) {
			continue
		}
		a := msgStore{entry: e, header: 8, left: m.left, outer: m.ansi()}
		if a.isFurniture() {
			continue
		}
		if inner := a.property(msgAttachData, msgObject); inner != nil && inner.IsStorage() {
			if err := a.addMessage(ctx, s, msgStore{entry: inner, header: 24, left: m.left, outer: a.outer}); err != nil {
				return err
			}
			continue
		}
		data := a.property(msgAttachData, msgBinary)
		if data == nil {
			continue // a link to a file elsewhere
		}
		if err := s.Add(ctx, compose.First(a.name(), fmt.Sprintf("attachment-%d", len(s.Parts)+1)), data.Open()); err != nil {
			return err
		}
	}
	return nil
}

func isAttachment(e *cfb.Entry) bool {
	return e.IsStorage() && strings.HasPrefix(strings.ToLower(e.Name), "__attach_version1.0_")
}

// isFurniture reports whether an attachment is part of the page: it is hidden, or a picture in the body.
func (m msgStore) isFurniture() bool {
	if m.fixed(msgAttachHidden)&1 != 0 {
		return true
	}
	switch format.Ext(m.name()) {
	case "png", "jpg", "jpeg", "gif", "bmp":
		return m.text(msgContentID) != ""
	}
	return false
}

func (m msgStore) name() string {
	for _, tag := range []int{msgAttachLong, msgAttachShort, msgDisplayName} {
		if name := compose.AttachmentName(m.text(tag)); name != "" {
			return name
		}
	}
	return ""
}

// addMessage extracts a message within the message.
func (m msgStore) addMessage(ctx context.Context, s *extract.Spool, inner msgStore) error {
	name := compose.First(compose.AttachmentName(inner.text(msgSubject)), compose.First(m.name(), fmt.Sprintf("attachment-%d", len(s.Parts)+1)))
	if format.Ext(name) != "eml" {
		name += ".eml"
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() { // ends when r is closed at the latest
		defer close(done)
		w.CloseWithError(inner.writeMail(ctx, w, 0))
	}()
	err := s.Add(ctx, name, r)
	r.Close()
	<-done
	return err
}
