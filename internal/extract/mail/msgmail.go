package mail

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"mime"
	"strings"

	"parley/internal/extract/compose"
)

// maxMSGDepth is the maximum depth of messages inside each other; deeper ones are left out.
const maxMSGDepth = 10

// writeMail writes a message in the Internet Message Format, so that it can be read and downloaded on its own.
func (m msgStore) writeMail(ctx context.Context, w io.Writer, depth int) error {
	if depth > maxMSGDepth {
		return nil
	}
	boundary := fmt.Sprintf("parley-%d", depth)
	var head strings.Builder
	for _, f := range m.outlook().fields() {
		if f.name == "Date" {
			if t, ok := m.outlook().date(); ok {
				f.value = t.Format("Mon, 02 Jan 2006 15:04:05 -0700")
			}
		}
		if f.value != "" {
			head.WriteString(f.name + ": " + headerWords(f.value) + "\r\n")
		}
	}
	head.WriteString("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\r\n\r\n")
	if _, err := io.WriteString(w, head.String()); err != nil {
		return err
	}
	body := m.outlook().body(ctx)
	media, text := "text/plain", body.plain
	if strings.TrimSpace(text) == "" {
		media, text = "text/html", body.html
	}
	if err := writePart(w, boundary, "Content-Type: "+media+"; charset=utf-8", strings.NewReader(text)); err != nil {
		return err
	}
	for _, e := range m.entry.List() {
		if !isAttachment(e) {
			continue
		}
		a := msgStore{entry: e, header: 8, left: m.left, outer: m.ansi()}
		if err := a.writeAttachment(ctx, w, boundary, depth); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "--"+boundary+"--\r\n")
	return err
}

// headerWords encodes non-ASCII text in words of at most 75 characters.
func headerWords(s string) string { return mime.QEncoding.Encode("utf-8", s) }

func (m msgStore) writeAttachment(ctx context.Context, w io.Writer, boundary string, depth int) error {
	if m.isFurniture() {
		return nil
	}
	if inner := m.property(msgAttachData, msgObject); inner != nil && inner.IsStorage() {
		if _, err := io.WriteString(w, "--"+boundary+"\r\nContent-Type: message/rfc822\r\n\r\n"); err != nil {
			return err
		}
		if err := (msgStore{entry: inner, header: 24, left: m.left, outer: m.outer}).writeMail(ctx, w, depth+1); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\r\n")
		return err
	}
	data := m.property(msgAttachData, msgBinary)
	if data == nil {
		return nil
	}
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": compose.First(m.name(), "attachment")})
	if disposition == "" {
		disposition = "attachment"
	}
	return writePart(w, boundary, "Content-Type: application/octet-stream\r\nContent-Disposition: "+disposition, data.Open())
}

// writePart writes one part in base64.
func writePart(w io.Writer, boundary, header string, content io.Reader) error {
	if _, err := io.WriteString(w, "--"+boundary+"\r\n"+header+"\r\nContent-Transfer-Encoding: base64\r\n\r\n"); err != nil {
		return err
	}
	lines := &lineWriter{w: w}
	encoder := base64.NewEncoder(base64.StdEncoding, lines)
	if _, err := io.Copy(encoder, content); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\r\n")
	return err
}

// lineWriter breaks lines after 76 characters.
type lineWriter struct {
	w io.Writer
	n int
}

func (l *lineWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		part := p[:min(len(p), 76-l.n)]
		n, err := l.w.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
		if l.n += n; l.n == 76 {
			l.n = 0
			if _, err := io.WriteString(l.w, "\r\n"); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// rtfDictionary is the initial dictionary of compressed RTF (MS-OXRTFCP section 3.1.3.1.1).
const rtfDictionary = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor ` +
	"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"

// decompressRTF undoes the compression of the RTF in a message (MS-OXRTFCP), as far as it is sound,
// and to at most limit bytes.
func decompressRTF(data []byte, limit int64) []byte {
	if len(data) < 16 {
		return nil
	}
	size, kind, in := int64(binary.LittleEndian.Uint32(data[4:])), string(data[8:12]), data[16:]
	if kind == "MELA" {
		return in[:min(size, int64(len(in)))]
	}
	if kind != "LZFu" || size > limit {
		return nil
	}
	var window [4096]byte
	at := copy(window[:], rtfDictionary)
	var out []byte
	put := func(c byte) {
		out = append(out, c)
		window[at%len(window)] = c
		at++
	}
	for len(in) > 0 && int64(len(out)) < size {
		flags := in[0]
		in = in[1:]
		for bit := 0; bit < 8 && len(in) > 0; bit++ {
			if flags>>bit&1 == 0 {
				put(in[0])
				in = in[1:]
				continue
			}
			if len(in) < 2 {
				return out
			}
			ref := binary.BigEndian.Uint16(in)
			in = in[2:]
			from, n := int(ref>>4), int(ref&0xf)+2
			if from == at%len(window) {
				return out // this reference marks the end
			}
			for i := range n {
				put(window[(from+i)%len(window)])
			}
		}
	}
	return out
}
