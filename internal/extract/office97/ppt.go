package office97

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
)

var _ = extract.Register("PowerPoint 97–2003", extract.Reader{Read: readPPT})

// Kinds of records (MS-PPT 2.13.24).
const (
	pptUserEdit  = 0x0ff5
	pptSeal      = 0x2f14 // the encryption header
	pptPersist   = 0x1772
	pptDocument  = 0x03e8
	pptList      = 0x0ff0 // of slides, masters or notes
	pptListed    = 0x03f3 // a slide of a list
	pptSlide     = 0x03ee
	pptNotes     = 0x03f0
	pptNotesOf   = 0x03f1 // the slide to which notes belong
	pptTextType  = 0x0f9f
	pptTextWide  = 0x0fa0
	pptTextBytes = 0x0fa8
	pptOutline   = 0x0f9e // the number of a text in the list of slides
)

// Kinds of text (MS-PPT 2.13.33).
const (
	textTitle       = 0
	textBody        = 1
	textOther       = 4
	textCenterTitle = 6
	textHalfBody    = 7
	textQuarterBody = 8
)

const (
	listOfSlides  = 0
	listOfNotes   = 2
	pptHeadSize   = 8
	pptDepth      = 32 // of nested containers
	maxPPTSlides  = 10_000
	currentSealed = 0xf3d1c4df // of a file that is encrypted
)

// pptRecord is a record of a presentation.
type pptRecord struct {
	kind, instance int
	container      bool
	body           []byte
}

// pptText is a text of a slide.
type pptText struct {
	kind int
	text string
}

// pptReader reads a presentation of PowerPoint 97 to 2003.
type pptReader struct {
	ctx     context.Context
	data    []byte
	objects map[uint32]uint32 // places in data, by the number of the object
	taken   map[uint32]bool   // places of objects that were read
	out     []extract.Page
	budget  *compose.Budget
	seal    uint32     // the number of the object with the encryption header; 0 if nothing is encrypted
	cipher  *rc4Cipher // decrypts the other objects; nil if they are not encrypted
}

// readPPT reads the text of each slide, and the speaker's notes. It leaves out the text that masters repeat.
func readPPT(ctx context.Context, f *extract.File) (*extract.Document, error) {
	const newer = "PP97_DUALSTORAGE/" // the storage of a file that PowerPoint 95 can also read
	data, err := stream(f, newer+"PowerPoint Document", "PowerPoint Document")
	if err != nil {
		return nil, err
	}
	current, err := stream(f, newer+"Current User", "Current User")
	if err != nil || len(current) < 20 {
		current = nil
	}
	return readSlides(ctx, f, data, current)
}

// readSlides reads the streams of a presentation. The second one may be nil.
func readSlides(ctx context.Context, f *extract.File, data, current []byte) (*extract.Document, error) {
	r := &pptReader{ctx: ctx, data: data, objects: map[uint32]uint32{}, taken: map[uint32]bool{}, budget: compose.NewBudget(f.Limits)}
	last, sealed := r.lastEdit, false
	if current != nil {
		last = func() uint32 { return binary.LittleEndian.Uint32(current[16:]) }
		sealed = binary.LittleEndian.Uint32(current[12:]) == currentSealed
	}
	document := r.edits(last())
	if sealed || r.seal != 0 {
		if err := r.unlock(f.Passwords); err != nil {
			return nil, err
		}
	}
	root, ok := r.object(document)
	if !ok || root.kind != pptDocument {
		return nil, extract.Damagedf("the presentation is broken, or older than PowerPoint 97: it does not say where its slides are")
	}
	if err := r.read(root); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: r.out}, nil
}

// at returns the record at a place in data, and the place after it.
func (r *pptReader) at(data []byte, place int) (rec pptRecord, next int, ok bool) {
	if place < 0 || place+pptHeadSize > len(data) {
		return rec, 0, false
	}
	first, size := binary.LittleEndian.Uint16(data[place:]), int64(binary.LittleEndian.Uint32(data[place+4:]))
	end := int(min(int64(place+pptHeadSize)+size, int64(len(data))))
	return pptRecord{
		kind: int(binary.LittleEndian.Uint16(data[place+2:])), instance: int(first >> 4), container: first&0xf == 0xf, body: data[place+pptHeadSize : end],
	}, end, true
}

// each calls visit for the records in a container, until it returns false.
func (r *pptReader) each(container []byte, visit func(pptRecord) bool) {
	for place := 0; ; {
		rec, next, ok := r.at(container, place)
		if !ok || !visit(rec) {
			return
		}
		place = next
	}
}

// lastEdit looks for the last edit if the stream that names it is missing.
func (r *pptReader) lastEdit() (last uint32) {
	for place := 0; ; {
		rec, next, ok := r.at(r.data, place)
		if !ok {
			return last
		}
		if rec.kind == pptUserEdit {
			last = uint32(place)
		}
		place = next
	}
}

// edits follows the edits of the file from the last to the first, and notes the places of objects. It returns the number
// of the document object (MS-PPT 2.3.3).
func (r *pptReader) edits(place uint32) (document uint32) {
	seen := map[uint32]bool{}
	for place != 0 && !seen[place] {
		seen[place] = true
		edit, _, ok := r.at(r.data, int(place))
		if !ok || edit.kind != pptUserEdit || len(edit.body) < 20 {
			break
		}
		if document == 0 {
			document = binary.LittleEndian.Uint32(edit.body[16:])
			if len(edit.body) >= 32 {
				r.seal = binary.LittleEndian.Uint32(edit.body[28:])
			}
		}
		persist := binary.LittleEndian.Uint32(edit.body[12:])
		if directory, _, ok := r.at(r.data, int(persist)); ok && directory.kind == pptPersist && !seen[persist] {
			seen[persist] = true
			r.note(directory.body)
		}
		place = binary.LittleEndian.Uint32(edit.body[8:])
	}
	return document
}

// note reads a directory of objects (MS-PPT 2.3.5). It keeps the known places of objects, which are of newer versions.
func (r *pptReader) note(b []byte) {
	for len(b) >= 4 {
		head := binary.LittleEndian.Uint32(b)
		first, n := head&0xfffff, int(head>>20)
		b = b[4:]
		for i := 0; i < n && len(b) >= 4; i++ {
			if id := first + uint32(i); r.objects[id] == 0 {
				r.objects[id] = binary.LittleEndian.Uint32(b)
			}
			b = b[4:]
		}
	}
}

// object returns each object only once: a slide that is listed many times would take the time and memory of many slides.
func (r *pptReader) object(id uint32) (pptRecord, bool) {
	place, ok := r.objects[id]
	if !ok || r.taken[place] {
		return pptRecord{}, false
	}
	r.taken[place] = true
	if r.cipher != nil {
		return r.decrypted(id, place)
	}
	rec, _, ok := r.at(r.data, int(place))
	return rec, ok
}

// unlock finds the cipher of an encrypted presentation (MS-PPT 2.3.7).
func (r *pptReader) unlock(passwords []string) error {
	place, ok := r.objects[r.seal]
	rec, _, found := r.at(r.data, int(place))
	var open func(string) decrypter
	known := false
	if ok && found && rec.kind == pptSeal {
		open, known = readRC4(rec.body, xlsBlock)
	}
	c, err := unlock("presentation", open, known, passwords, len(passwords) > 0)
	if err == nil {
		r.cipher, _ = c.(*rc4Cipher)
	}
	return err
}

// decrypted returns an object of an encrypted presentation. The object's number selects the block of the key stream.
func (r *pptReader) decrypted(id, place uint32) (pptRecord, bool) {
	if int64(place)+pptHeadSize > int64(len(r.data)) {
		return pptRecord{}, false
	}
	stream := r.cipher.block(int(id))
	head := make([]byte, pptHeadSize)
	stream.XORKeyStream(head, r.data[place:place+pptHeadSize])
	rest := r.data[place+pptHeadSize:]
	body := make([]byte, min(int64(binary.LittleEndian.Uint32(head[4:])), int64(len(rest))))
	stream.XORKeyStream(body, rest[:len(body)])
	rec, _, ok := r.at(slices.Concat(head, body), 0)
	return rec, ok
}

// listed is an entry in a document's list of slides or of notes.
type listed struct {
	object, id uint32
	outline    []pptText // its titles and bodies
}

func (r *pptReader) read(document pptRecord) error {
	var slides, notes []listed
	r.each(document.body, func(rec pptRecord) bool {
		switch {
		case rec.kind != pptList:
		case rec.instance == listOfSlides:
			slides = append(slides, r.list(rec.body)...)
		case rec.instance == listOfNotes:
			notes = append(notes, r.list(rec.body)...)
		}
		return true
	})
	if len(slides) > maxPPTSlides {
		return extract.TooLargef("the presentation has %d slides, and at most %d are read", len(slides), maxPPTSlides)
	}
	spoken := map[uint32][]pptText{}
	for _, n := range notes {
		rec, ok := r.object(n.object)
		if !ok || rec.kind != pptNotes {
			continue
		}
		r.each(rec.body, func(c pptRecord) bool {
			if c.kind == pptNotesOf && len(c.body) >= 4 {
				spoken[binary.LittleEndian.Uint32(c.body)] = r.texts(rec.body, n.outline)
				return false
			}
			return true
		})
	}
	for i, s := range slides {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		texts := s.outline
		if rec, ok := r.object(s.object); ok && rec.kind == pptSlide {
			texts = r.texts(rec.body, s.outline)
		}
		if err := r.page(i+1, texts, spoken[s.id]); err != nil {
			return err
		}
	}
	return nil
}

// list reads a list of slides (MS-PPT 2.4.14.3).
func (r *pptReader) list(b []byte) (all []listed) {
	kind := textOther
	r.each(b, func(rec pptRecord) bool {
		if rec.kind == pptListed {
			if len(rec.body) < 16 {
				return false
			}
			all = append(all, listed{object: binary.LittleEndian.Uint32(rec.body), id: binary.LittleEndian.Uint32(rec.body[12:])})
			return true
		}
		if len(all) > 0 {
			last := &all[len(all)-1]
			last.outline, kind = addText(last.outline, kind, rec)
		}
		return true
	})
	return all
}

// texts reads the texts of a slide's shapes in the order in which they are drawn.
func (r *pptReader) texts(slide []byte, outline []pptText) (all []pptText) {
	kind := textOther
	var walk func(b []byte, depth int)
	walk = func(b []byte, depth int) {
		r.each(b, func(rec pptRecord) bool {
			switch {
			case rec.kind == pptOutline && len(rec.body) >= 4:
				if i := int(binary.LittleEndian.Uint32(rec.body)); i < len(outline) {
					all = append(all, outline[i])
				}
			case rec.kind == clientText || rec.container && depth < pptDepth:
				kind = textOther
				walk(rec.body, depth+1)
			default:
				all, kind = addText(all, kind, rec)
			}
			return true
		})
	}
	walk(slide, 0)
	return all
}

// clientText is the record with the text of a shape (MS-PPT 2.9.76). It is not always marked as a container.
const clientText = 0xf00d

// addText adds the text of a record, if it has any, and returns the kind of the next one.
func addText(all []pptText, kind int, rec pptRecord) ([]pptText, int) {
	switch rec.kind {
	case pptTextType:
		if len(rec.body) >= 4 {
			kind = int(binary.LittleEndian.Uint32(rec.body))
		}
	case pptTextWide:
		all = append(all, pptText{kind, codepage.UTF16(rec.body)})
	case pptTextBytes: // the lower halves of UTF-16
		var b strings.Builder
		for _, c := range rec.body {
			b.WriteRune(rune(c))
		}
		all = append(all, pptText{kind, b.String()})
	}
	return all, kind
}

// page adds a slide with its notes.
func (r *pptReader) page(number int, texts, notes []pptText) error {
	out := compose.Builder{Budget: r.budget}
	for _, t := range texts {
		if err := addSlideText(&out, t); err != nil {
			return err
		}
	}
	heading := false
	for _, t := range notes {
		if !heading && strings.Trim(t.text, placeholder) != "" {
			heading = true
			if err := out.Add(extract.Heading, 2, "Notes"); err != nil {
				return err
			}
		}
		if err := addSlideText(&out, t); err != nil {
			return err
		}
	}
	if len(out.Blocks) > 0 {
		r.out = append(r.out, out.Page(number, true))
	}
	return nil
}

// placeholder holds the characters of a text that is replaced by the number of the slide or the date.
const placeholder = "* \r\n\v"

// addSlideText adds the paragraphs of a text.
func addSlideText(out *compose.Builder, t pptText) error {
	for p := range strings.SplitSeq(t.text, "\r") {
		p = compose.Clean(strings.ReplaceAll(p, "\v", "\n"))
		if strings.Trim(p, placeholder) == "" {
			continue
		}
		var err error
		switch t.kind {
		case textTitle, textCenterTitle:
			err = out.Add(extract.Heading, 1, compose.OneLine(p))
		case textBody, textHalfBody, textQuarterBody:
			err = out.Add(extract.ListItem, 0, "• "+p)
		default:
			err = out.Add(extract.Paragraph, 0, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
