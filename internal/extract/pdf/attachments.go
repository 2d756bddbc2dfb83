package pdf

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

// The bounds of the files inside a document.
const (
	maxPDFAttachments     = 1000
	maxPDFAttachmentBytes = 64 << 20
)

// attachments extracts the embedded files of a document (ISO 32000-2, section 7.11.4).
func (d *pdfDocument) attachments(ctx context.Context, s *extract.Spool) error {
	for i := range min(d.int("FPDFDoc_GetAttachmentCount", d.handle), maxPDFAttachments) {
		attachment := d.call("FPDFDoc_GetAttachment", d.handle, uint64(i))
		if attachment == 0 {
			continue
		}
		name := compose.First(compose.AttachmentName(d.string16("FPDFAttachment_GetName", attachment)), fmt.Sprintf("attachment-%d", i+1))
		content, refused := d.attachment(attachment)
		if d.err != nil {
			return d.failure()
		}
		var err error
		if refused != nil {
			err = s.Refuse(s.Unique(name), refused)
		} else {
			err = s.Add(ctx, name, bytes.NewReader(content))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attachment returns the content of one file, or the reason why it cannot be read.
func (d *pdfDocument) attachment(handle uint64) ([]byte, *extract.Error) {
	size, ok := d.attachmentInto(handle, 0, 0)
	switch {
	case !ok || size == 0:
		return nil, extract.Damagedf("its content in the document is missing or broken")
	case size > maxPDFAttachmentBytes:
		return nil, extract.TooLargef("it has more than %s", extract.Megabytes(maxPDFAttachmentBytes))
	}
	buffer := d.call("malloc", uint64(size))
	if buffer == 0 {
		return nil, extract.TooLargef("taking it out of the document needs more memory than allowed")
	}
	defer d.call("free", buffer)
	if _, ok = d.attachmentInto(handle, buffer, size); !ok {
		return nil, extract.Damagedf("its content in the document is missing or broken")
	}
	content, ok := d.module.Memory().Read(uint32(buffer), size)
	if !ok {
		return nil, extract.Damagedf("its content in the document is missing or broken")
	}
	return bytes.Clone(content), nil
}

// attachmentInto writes a file to a buffer of the module, and returns its size. If buffer is 0, it only finds the size.
func (d *pdfDocument) attachmentInto(handle, buffer uint64, size uint32) (uint32, bool) {
	ok := d.call("FPDFAttachment_GetFile", handle, buffer, uint64(size), uint64(d.scratch)) != 0
	raw, read := d.module.Memory().Read(d.scratch, 4)
	return binary.LittleEndian.Uint32(append(bytes.Clone(raw), 0, 0, 0, 0)), ok && read
}
