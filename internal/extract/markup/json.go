package markup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("JSON", extract.Reader{Read: readJSON})

// readJSON reads JSON and JSON Lines as records: the values of a stream, the items of an array,
// or the one object that the file is. A record becomes a paragraph of lines "key: value", below
// its title as a heading where it has one and is long.
func readJSON(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	r := jsonReader{out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	if f.Ext == "jsonl" || f.Ext == "ndjson" || isJSONLines(text) {
		err = r.lines(ctx, text)
	} else {
		err = r.stream(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{r.out.Page(0, false)}, Notes: r.notes}, nil
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
	notes   []string
}

// lines reads one record a line. A few broken lines are passed over.
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
		err := r.top(ctx, d)
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

// top reads one value of the stream.
func (r *jsonReader) top(ctx context.Context, d *json.Decoder) error {
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

// whole writes the one value of a file. An object that holds lists of objects is a frame around
// their records.
func (r *jsonReader) whole(v jsonValue) error {
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
		for _, item := range list.value.items {
			if err := r.record(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// longRecord is from how many bytes on a record gets its title as a heading.
const longRecord = 500

// record writes one record.
func (r *jsonReader) record(v jsonValue) error {
	r.records++
	level := 2
	if title := v.title(); title != "" && v.size > longRecord {
		if err := r.out.Add(extract.Heading, level, title); err != nil {
			return err
		}
		level++
	}
	return r.sections(v, level)
}

// sections writes what a value holds: short parts as lines with their path, and long ones below headings of
// their own, so that not every line repeats the way to it.
func (r *jsonReader) sections(v jsonValue, level int) error {
	fields := v.fields
	if _, isList := v.list(); v.array && !isList {
		for i, item := range v.items {
			fields = append(fields, jsonField{cmp.Or(item.title(), strconv.Itoa(i+1)), item})
		}
	} else if !v.object {
		var text strings.Builder
		v.write(&text, "")
		return r.out.Add(extract.Paragraph, 0, text.String())
	}
	var text strings.Builder
	var long []jsonField
	for i, f := range fields {
		if f.value.isLong() {
			long = append(long, f)
			continue
		}
		if v.array {
			f.key = strconv.Itoa(i + 1)
		}
		f.value.write(&text, compose.OneLine(f.key))
	}
	if err := r.out.Add(extract.Paragraph, 0, text.String()); err != nil {
		return err
	}
	for _, f := range long {
		if err := r.out.Add(extract.Heading, min(level, 6), compose.OneLine(f.key)); err != nil {
			return err
		}
		if err := r.sections(f.value, level+1); err != nil {
			return err
		}
	}
	return nil
}

// isLong holds for an object or a list of them that is more than a few lines.
func (v jsonValue) isLong() bool {
	if _, isList := v.list(); v.array && isList {
		return false
	}
	return (v.object || v.array) && v.size > longRecord
}

// jsonValue is a value with its fields in the order of the file.
type jsonValue struct {
	scalar string // of what is neither object nor array; null is ""
	number bool
	object bool
	fields []jsonField
	array  bool
	items  []jsonValue
	size   int // of its text with the names of its fields, in bytes
}

type jsonField struct {
	key   string
	value jsonValue
}

// isRecords holds for a list of several objects.
func (v jsonValue) isRecords() bool {
	for _, item := range v.items {
		if !item.object {
			return false
		}
	}
	return len(v.items) > 1
}

// title is what a record is called, "" when it does not say.
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

// The bounds beyond which a value is not for people: vectors, and what is encoded.
const (
	manyNumbers = 64
	longWord    = 1000
)

// write writes a value as lines "path: value". Empty values are left out.
func (v jsonValue) write(b *strings.Builder, path string) {
	switch {
	case v.object:
		for _, f := range v.fields {
			f.value.write(b, joinPath(path, f.key))
		}
	case v.array:
		if list, ok := v.list(); ok {
			writeField(b, path, list)
			return
		}
		for i, item := range v.items {
			item.write(b, joinPath(path, strconv.Itoa(i+1)))
		}
	default:
		writeField(b, path, v.scalar)
	}
}

// list returns the items of an array on one line when none has items of its own.
func (v jsonValue) list() (string, bool) {
	numbers := 0
	var items []string
	for _, item := range v.items {
		if item.object || item.array {
			return "", false
		}
		if item.number {
			numbers++
		}
		items = append(items, item.scalar)
	}
	if numbers > manyNumbers {
		return "", true
	}
	return strings.Join(items, ", "), true
}

func writeField(b *strings.Builder, path, value string) {
	if value = strings.TrimSpace(value); value == "" {
		return
	}
	if len(value) > longWord && !strings.ContainsAny(value[:longWord], " \n\t") && utf8.RuneCountInString(value[:longWord]) == longWord {
		return // not a text in a script without spaces
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
		return jsonValue{scalar: text, size: len(text)}, nil
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
	}
	_, err := p.d.Token()
	return v, err
}

func (p *jsonParser) array(depth int) (jsonValue, error) {
	v := jsonValue{array: true}
	for p.d.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
		v.size += item.size + 2
	}
	_, err := p.d.Token()
	return v, err
}
