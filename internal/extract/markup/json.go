package markup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("JSON", extract.Reader{Read: readJSON})

// readJSON reads JSON and JSON Lines as records: the values of a stream, the items of an array, or the single object of
// the file. A record becomes a paragraph of lines "key: value". If it is long and has a title, the title is a heading
// above it. A long field has a heading of its own, and its value is below that.
func readJSON(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	r := jsonReader{top: siblings{level: 2}, out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	if f.Ext == "jsonl" || f.Ext == "ndjson" || isJSONLines(text) {
		err = r.lines(ctx, text)
	} else {
		err = r.stream(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	return &extract.Document{Title: r.title, Pages: []extract.Page{r.out.Page(0, false)}, Notes: r.notes}, nil
}

// isJSONLines reports whether every line is a value of its own, as far as the first ones show.
func isJSONLines(text string) bool {
	const looked = 3
	n := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !json.Valid([]byte(line)) || line[0] != '{' && line[0] != '[' {
			return false
		}
		if n++; n == looked {
			break
		}
	}
	return n > 1
}

type jsonReader struct {
	out     compose.Builder
	records int
	top     siblings
	notes   []string
	title   string
}

// lines reads one record a line. It skips a few broken lines.
func (r *jsonReader) lines(ctx context.Context, text string) error {
	broken, number := 0, 0
	for line := range strings.Lines(text) {
		if err := ctx.Err(); err != nil {
			return err
		}
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		v, err := (&jsonParser{d: jsonDecoder(line)}).value(0)
		switch {
		case zipxml.IsSyntaxError(err):
			broken++
			continue
		case err != nil:
			return err
		}
		if err := r.record(v); err != nil {
			return err
		}
	}
	if broken > r.records {
		return extract.Damagedf("most of its lines are not JSON")
	}
	if broken > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d of its %d lines are not JSON, and were left out", broken, number))
	}
	return nil
}

// stream reads the values of a file, mostly one. The items of an array come one by one, so that a
// long one takes little memory.
func (r *jsonReader) stream(ctx context.Context, text string) error {
	d := jsonDecoder(text)
	for d.More() {
		err := r.next(ctx, d)
		switch {
		case zipxml.IsSyntaxError(err) && r.records > 0:
			r.notes = append(r.notes, "the file is damaged, and was read up to the damage")
			return nil
		case zipxml.IsSyntaxError(err):
			return extract.Damagedf("the file is not JSON")
		case err != nil:
			return err
		}
	}
	return nil
}

func jsonDecoder(text string) *json.Decoder {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d
}

// next reads one value of the stream.
func (r *jsonReader) next(ctx context.Context, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('[') {
		v, err := (&jsonParser{d: d}).from(token, 0)
		if err != nil {
			return err
		}
		return r.whole(v)
	}
	for d.More() {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := (&jsonParser{d: d}).value(0)
		if err != nil {
			return err
		}
		if err := r.record(v); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// whole writes the only value of a file. If it is an object that contains lists of objects, these objects are records.
func (r *jsonReader) whole(v jsonValue) error {
	r.title = v.title()
	rest := v
	rest.fields = nil
	rest.size = 0
	var lists []jsonField
	for _, f := range v.fields {
		if f.value.isRecords() {
			lists = append(lists, f)
		} else {
			rest.fields = append(rest.fields, f)
			rest.size += len(f.key) + 3 + f.value.size
		}
	}
	if err := r.record(rest); err != nil {
		return err
	}
	for _, list := range lists {
		if err := r.out.Add(extract.Heading, 1, compose.OneLine(list.key)); err != nil {
			return err
		}
		r.top = siblings{level: 2}
		for _, item := range list.value.items {
			if err := r.record(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sizes in bytes that decide whether values get headings and lines of their own.
const (
	longRecord = 500 // a record that is longer has its title as a heading
	oneLine    = 240 // an object that is longer has a heading and a line for each of its fields
)

// record writes one record of the file.
func (r *jsonReader) record(v jsonValue) error {
	r.records++
	return r.top.add(r, v)
}

// siblings are the values of one list.
type siblings struct {
	level  int // of their headings
	count  int
	headed bool // one of them has headings, so that the others need one
}

// add writes the next value. If it is long, its title is a heading, or its number if it is a list or would
// seem to belong to the value before it.
func (s *siblings) add(r *jsonReader, v jsonValue) error {
	s.count++
	level, title := s.level, v.title()
	if title != "" && v.size > longRecord || v.array && !v.fitsLine() || s.headed {
		s.headed = true
		if err := r.out.Add(extract.Heading, min(level, lowestHeading), cmp.Or(title, strconv.Itoa(s.count))); err != nil {
			return err
		}
		level++
	}
	for _, f := range v.fields {
		s.headed = s.headed || !f.value.fitsLine()
	}
	return r.fields(v, level, "")
}

// lowestHeading is the lowest level of headings. Headings of this level contain the path from the heading above them.
const lowestHeading = 6

// fields writes the content of a value. Each short field is a line, and each long field has a heading of its own, so that
// lines need not repeat the path to it. path is the part of the path to the value that headings do not contain.
func (r *jsonReader) fields(v jsonValue, level int, path string) error {
	switch {
	case v.array && !v.fitsLine():
		items := siblings{level: level}
		for _, item := range v.items {
			if err := items.add(r, item); err != nil {
				return err
			}
		}
		return nil
	case !v.object:
		return r.out.Add(extract.Paragraph, 0, v.line())
	}
	var text strings.Builder
	var long []jsonField
	for _, f := range v.fields {
		if f.value.fitsLine() {
			writeField(&text, compose.OneLine(f.key), f.value.line())
		} else {
			long = append(long, f)
		}
	}
	if err := r.out.Add(extract.Paragraph, 0, text.String()); err != nil {
		return err
	}
	for _, f := range long {
		heading := joinPath(path, f.key)
		if err := r.out.Add(extract.Heading, min(level, lowestHeading), heading); err != nil {
			return err
		}
		if level < lowestHeading {
			heading = ""
		}
		if err := r.fields(f.value, level+1, heading); err != nil {
			return err
		}
	}
	return nil
}

// fitsLine reports whether a value needs no more than a line. Only objects and lists of objects may need more.
func (v jsonValue) fitsLine() bool {
	if !v.object && !v.array || v.array && v.isPlain() || v.isVector() {
		return true
	}
	return v.size <= oneLine && !v.hasLines
}

// line returns a value on one line ("city: Bonn; zip: 53111"), or "" if there is nothing in it to read. The text of a
// scalar keeps its own lines.
func (v jsonValue) line() string {
	switch {
	case v.isVector():
		return ""
	case !v.object && !v.array:
		return strings.TrimSpace(v.scalar)
	}
	var parts []string
	for _, f := range v.fields {
		text := compose.OneLine(f.value.line())
		if f.value.object || !f.value.isPlain() {
			text = bracketed(text)
		}
		if text != "" {
			parts = append(parts, compose.OneLine(f.key)+": "+text)
		}
	}
	for _, item := range v.items {
		text := compose.OneLine(item.line())
		if item.object || item.array {
			text = bracketed(text)
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	if v.object {
		return strings.Join(parts, "; ")
	}
	return strings.Join(parts, ", ")
}

// bracketed puts brackets around a part of a line that has parts of its own.
func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// isPlain reports whether no item of a list has items of its own.
func (v jsonValue) isPlain() bool {
	return !slices.ContainsFunc(v.items, func(item jsonValue) bool { return item.object || item.array })
}

// isVector reports whether a value is a list of many numbers, or of lists of numbers, such as the outline of a country.
func (v jsonValue) isVector() bool { return v.numbers > manyNumbers }

// jsonValue is a value with its fields in the order of the file.
type jsonValue struct {
	scalar string // the value unless it is an object or array; null is ""
	number bool
	object bool
	fields []jsonField
	array  bool
	items  []jsonValue
	size   int // of the text to read, with the names of its fields, in bytes

	hasLines bool // it is, or holds, a text of several lines
	numbers  int  // number of numbers in an array that contains only numbers and arrays of numbers
}

type jsonField struct {
	key   string
	value jsonValue
}

// isRecords reports whether a value is a list of several objects.
func (v jsonValue) isRecords() bool {
	for _, item := range v.items {
		if !item.object {
			return false
		}
	}
	return len(v.items) > 1
}

// title returns the name of a record, or "" if it has none.
func (v jsonValue) title() string {
	for _, key := range []string{"title", "name", "headline", "subject", "question"} {
		for _, f := range v.fields {
			if strings.EqualFold(f.key, key) && !f.value.number && utf8.RuneCountInString(f.value.scalar) <= 200 {
				return compose.OneLine(f.value.scalar)
			}
		}
	}
	return ""
}

// The limits beyond which a value is not text for people: it is a vector, or encoded data.
const (
	manyNumbers = 64
	longWord    = 1000
)

// isEncoded reports whether a text begins with a very long word and is not in a script without spaces.
func isEncoded(s string) bool {
	return len(s) > longWord && !strings.ContainsAny(s[:longWord], " \n\t") && utf8.RuneCountInString(s[:longWord]) == longWord
}

func writeField(b *strings.Builder, path, value string) {
	if value == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	if path != "" {
		b.WriteString(path + ": ")
	}
	b.WriteString(value)
}

func joinPath(path, key string) string {
	if key = compose.OneLine(key); path == "" {
		return key
	}
	return path + "." + key
}

// The bounds of one record.
const (
	jsonDepth  = 200
	jsonValues = 1_000_000
)

// jsonParser reads one value into memory.
type jsonParser struct {
	d      *json.Decoder
	values int
}

func (p *jsonParser) value(depth int) (jsonValue, error) {
	token, err := p.d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return jsonValue{}, err
	}
	return p.from(token, depth)
}

// from reads the value that begins with a token.
func (p *jsonParser) from(token json.Token, depth int) (jsonValue, error) {
	if p.values++; p.values > jsonValues {
		return jsonValue{}, extract.TooLargef("one of its records has more than %d values", jsonValues)
	}
	if depth > jsonDepth {
		return jsonValue{}, extract.TooLargef("its values are nested more than %d deep", jsonDepth)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case string:
		text := compose.Clean(t)
		if isEncoded(text) {
			text = ""
		}
		return jsonValue{scalar: text, size: len(text), hasLines: strings.Contains(strings.TrimSpace(text), "\n")}, nil
	case json.Number:
		return jsonValue{scalar: t.String(), number: true, size: len(t)}, nil
	case bool:
		text := strconv.FormatBool(t)
		return jsonValue{scalar: text, size: len(text)}, nil
	}
	return jsonValue{}, nil
}

func (p *jsonParser) object(depth int) (jsonValue, error) {
	v := jsonValue{object: true}
	for p.d.More() {
		token, err := p.d.Token()
		if err != nil {
			return v, err
		}
		key, _ := token.(string)
		value, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.fields = append(v.fields, jsonField{compose.Clean(key), value})
		v.size += len(key) + 3 + value.size
		v.hasLines = v.hasLines || value.hasLines
	}
	_, err := p.d.Token()
	return v, err
}

func (p *jsonParser) array(depth int) (jsonValue, error) {
	v, mixed := jsonValue{array: true}, false
	for p.d.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
		v.size += item.size + 2
		v.hasLines = v.hasLines || item.hasLines
		switch {
		case item.number:
			v.numbers++
		case item.numbers > 0:
			v.numbers += item.numbers
		default:
			mixed = true
		}
	}
	if mixed {
		v.numbers = 0
	}
	if v.isVector() {
		v.size = 0
	}
	_, err := p.d.Token()
	return v, err
}
