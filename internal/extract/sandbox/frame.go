package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"

	"parley/internal/extract"
)

// job is a request of a pool to a worker, about one file.
type job struct {
	extract.Request
	Render   *extract.Rendering // for a picture of a page
	Measure  *extract.Measuring // for the positions of characters
	Draw     int                // number of the page to draw for the recognition of its text
	Read     *reading           // for the recognised text of a page; with none of these, for the text of the file
	Handed   bool               // the file comes as a descriptor; otherwise the worker opens it, and cannot be confined
	CacheDir string
	Limits   extract.Limits
}

// reading asks for the text that is recognised on the picture of a page.
type reading struct {
	Page      int
	Languages []string
	Data      string // see ocr.Options
}

// outcome is a worker's answer: a document with the result of the post-processing, an image, positions on a page, a
// page that was drawn or recognised, an Error, or the text of any other error. An outcome with Begun comes first, when
// the parser is loaded; the time limit of the file starts there.
type outcome struct {
	Begun    bool
	Document *extract.Document
	Post     []byte
	Image    *extract.Image    // of a rendering
	Geometry *extract.Geometry // of a measuring
	Drawing  *extract.Drawing
	Seen     *extract.Page // of a reading
	Refused  *extract.Error
	Failed   string
}

// maxFrame limits a message, so that a broken worker cannot fill the server's memory.
const maxFrame = 512 << 20

// writeFrame writes one message: its length in four bytes, big endian, and its encoding by gob.
func writeFrame(w io.Writer, message any) error {
	var b bytes.Buffer
	b.Write(make([]byte, 4))
	if err := gob.NewEncoder(&b).Encode(message); err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	frame := b.Bytes()
	if len(frame)-4 > maxFrame {
		return extract.TooLargef("the document's text has %s", extract.Megabytes(int64(len(frame))))
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	if _, err := w.Write(frame); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}

// readFrame reads one message. At the end of the stream before a message it returns io.EOF.
func readFrame(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > maxFrame {
		return fmt.Errorf("read a message: it claims %d bytes", n)
	}
	var b bytes.Buffer
	if got, err := io.CopyN(&b, r, n); err != nil {
		return fmt.Errorf("read a message: %d of %d bytes: %w", got, n, err)
	}
	if err := gob.NewDecoder(&b).Decode(message); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	return nil
}
