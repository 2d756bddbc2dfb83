package mail

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	utf16 "golang.org/x/text/encoding/unicode"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/format"
)

var _ = extract.Register("TNEF", extract.Reader{Read: readTNEF})

// The attributes of a TNEF file that matter (MS-OXTNEF section 2.1.3.3), with their types in the upper half.
const (
	tnefSubject    = 0x00018004
	tnefBody       = 0x0002800c
	tnefTitle      = 0x00018010 // of an attachment
	tnefData       = 0x0006800f // of an attachment
	tnefRendering  = 0x00069002 // begins an attachment
	tnefMessage    = 0x00069003 // the properties of the message
	tnefAttachment = 0x00069005 // the properties of an attachment
	tnefCodePage   = 0x00069007
)

// readTNEF reads winmail.dat (MS-OXTNEF), in which Outlook packs a message for other Outlook clients. Attachments are
// documents of their own. The message ends at the first attribute that cannot be read.
func readTNEF(ctx context.Context, f *extract.File) (*extract.Document, error) {
	t := tnefReader{f: f}
	if err := t.read(ctx); err != nil {
		return nil, err
	}
	message := outlook{t.message, f.Limits.TextBytes}
	fields := slices.DeleteFunc(message.fields(), func(field mailField) bool { return field.value == "" })
	body := message.body(ctx)
	doc := &extract.Document{Title: message.text(msgSubject)}
	if t.cut {
		doc.Notes = append(doc.Notes, "the file is cut off or broken, and was read up to there")
	}
	if len(fields) == 0 && body.isEmpty() {
		if len(f.Spool.Parts) == 0 && t.cut {
			return nil, extract.Damagedf("the file is cut off or broken")
		}
		return doc, nil // it has attachments only
	}
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	if err := addMail(ctx, &out, fields, body, f.Spool.Parts); err != nil {
		return nil, err
	}
	doc.Pages = []extract.Page{out.Page(0, false)}
	return doc, nil
}

// tnefReader reads the attributes of a file.
type tnefReader struct {
	f       *extract.File
	message tnefProperties
	file    tnefFile // the attachment that is being read
	cut     bool     // the file ends within an attribute, or continues with something else
}

// tnefFile is an attachment.
type tnefFile struct {
	title      string
	content    io.Reader
	properties tnefProperties
}

func (t *tnefReader) read(ctx context.Context) error {
	const head, tail = 9, 2
	t.message = tnefProperties{values: map[uint16]tnefValue{}}
	charset := ""
	for at := int64(6); at < t.f.Size; {
		var raw [head]byte
		if _, err := t.f.Content.ReadAt(raw[:], at); err != nil {
			t.cut = true
			break
		}
		id, size := binary.LittleEndian.Uint32(raw[1:]), int64(binary.LittleEndian.Uint32(raw[5:]))
		if raw[0] != 1 && raw[0] != 2 || size > t.f.Size-at-head {
			t.cut = true
			break
		}
		content := io.NewSectionReader(t.f.Content, at+head, size)
		at += head + size + tail
		if id == tnefData {
			t.file.content = content
			continue
		}
		if id == tnefRendering {
			if err := t.endFile(ctx); err != nil {
				return err
			}
			continue
		}
		if size > t.f.Limits.TextBytes || !slices.Contains([]uint32{tnefSubject, tnefBody, tnefTitle, tnefMessage, tnefAttachment, tnefCodePage}, id) {
			continue
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(content, data); err != nil {
			t.cut = true
			break
		}
		switch id {
		case tnefCodePage:
			if len(data) >= 4 {
				charset = codepage.Windows(int(int32(binary.LittleEndian.Uint32(data))))
			}
		case tnefSubject:
			t.message.add(msgSubject, tnefValue{kind: msgANSI, data: data})
		case tnefBody:
			t.message.add(msgBody, tnefValue{kind: msgANSI, data: data})
		case tnefMessage:
			t.message.read(data)
		case tnefTitle:
			t.file.title = compose.OneLine(compose.Clean(codepage.Decode(bytes.TrimRight(data, "\x00"), charset)))
		case tnefAttachment:
			t.file.properties = tnefProperties{values: map[uint16]tnefValue{}, charset: charset}
			t.file.properties.read(data)
		}
		t.message.charset = charset
	}
	return t.endFile(ctx)
}

// endFile extracts the attachment whose attributes have been read.
func (t *tnefReader) endFile(ctx context.Context) error {
	file := t.file
	t.file = tnefFile{}
	name := ""
	for _, given := range []string{file.properties.string(msgAttachLong), file.title, file.properties.string(msgAttachShort), file.properties.string(msgDisplayName)} {
		name = compose.First(name, compose.AttachmentName(compose.OneLine(given)))
	}
	if object := file.properties.values[msgAttachData]; object.kind == msgObject && len(object.data) > 16 {
		if inner := object.data[16:]; bytes.HasPrefix(inner, []byte(tnefSignature)) { // a message within the message
			file.content, name = bytes.NewReader(inner), compose.First(name, "message")+".tnef"
		}
	}
	if file.content == nil {
		return nil
	}
	switch format.Ext(name) {
	case "png", "jpg", "jpeg", "gif", "bmp":
		if file.properties.string(msgContentID) != "" {
			return nil // a picture that is part of the page
		}
	}
	return t.f.Spool.Add(ctx, compose.First(name, fmt.Sprintf("attachment-%d", len(t.f.Spool.Parts)+1)), file.content)
}

// tnefSignature begins each TNEF file.
const tnefSignature = "\x78\x9f\x3e\x22"

// tnefProperties are the properties of a message or an attachment in TNEF (MS-OXTNEF section 2.1.3.4).
type tnefProperties struct {
	values  map[uint16]tnefValue
	charset string
}

type tnefValue struct {
	kind uint16
	data []byte
}

// add adds a property unless it is there.
func (p tnefProperties) add(tag uint16, v tnefValue) {
	if _, known := p.values[tag]; !known && len(v.data) > 0 {
		p.values[tag] = v
	}
}

func (p tnefProperties) string(tag int) string {
	switch v := p.values[uint16(tag)]; v.kind {
	case msgUnicode:
		return compose.Clean(codepage.As(utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), bytes.TrimSuffix(v.data, []byte("\x00\x00"))))
	case msgANSI:
		return compose.Clean(codepage.Decode(bytes.TrimRight(v.data, "\x00"), p.charset))
	}
	return ""
}

func (p tnefProperties) bytes(tag int) []byte {
	if v := p.values[uint16(tag)]; v.kind == msgBinary {
		return v.data
	}
	return nil
}

func (p tnefProperties) fixed(tag uint16) uint64 {
	switch v := p.values[tag].data; {
	case len(v) >= 8:
		return binary.LittleEndian.Uint64(v)
	case len(v) >= 4:
		return uint64(binary.LittleEndian.Uint32(v))
	}
	return 0
}

// tnefSizes are the sizes in bytes of properties of fixed size, by type.
var tnefSizes = map[uint16]int{0x02: 4, 0x03: 4, 0x04: 4, 0x05: 8, 0x06: 8, 0x07: 8, 0x0a: 4, 0x0b: 4, 0x14: 8, 0x40: 8, 0x48: 16}

// read reads a list of properties, as far as it is sound.
func (p tnefProperties) read(data []byte) {
	in := tnefBytes{data: data}
	for left := in.uint32(); left > 0 && !in.ended; left-- {
		kind, tag := in.uint16(), in.uint16()
		if tag >= 0x8000 { // the property has a name
			in.take(16)
			if in.uint32() == 0 {
				in.take(4)
			} else {
				in.padded(int64(in.uint32()))
			}
		}
		size, fixed := tnefSizes[kind&^0x1000]
		count := uint32(1)
		if !fixed || kind&0x1000 != 0 {
			count = in.uint32()
		}
		for ; count > 0 && !in.ended; count-- {
			length := int64(size)
			if !fixed {
				length = int64(in.uint32())
			}
			if value := in.padded(length); kind&0x1000 == 0 && tag < 0x8000 && !in.ended {
				p.add(tag, tnefValue{kind, value})
			}
		}
	}
}

// tnefBytes reads values one after the other; they are zero after the end.
type tnefBytes struct {
	data  []byte
	ended bool
}

func (b *tnefBytes) take(n int64) []byte {
	if n < 0 || n > int64(len(b.data)) {
		b.data, b.ended = nil, true
		return nil
	}
	taken := b.data[:n]
	b.data = b.data[n:]
	return taken
}

// padded reads a value and its padding to a multiple of four bytes.
func (b *tnefBytes) padded(n int64) []byte {
	value := b.take(n)
	b.take(min(-n&3, int64(len(b.data))))
	return value
}

func (b *tnefBytes) uint16() uint16 {
	if v := b.take(2); v != nil {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

func (b *tnefBytes) uint32() uint32 {
	if v := b.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}
