package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// shape recognises the events that make up nearly all of a stream without parsing them: they differ only
// in their text. It learns the bytes before and after the text from a parsed event. An event that begins
// and ends with the same bytes and has one JSON string between them must have the same meaning with
// another text. Other events are parsed.
type shape struct {
	prefix  []byte // ends after the quote that opens the text
	suffix  []byte // begins with the quote that closes it
	lessons int
	event   []byte // the event to learn from; nil for none
	parsed  *wireChunk
}

// maxLessons limits the cost for an upstream whose events differ in more than the text.
const maxLessons = 4

var contentKey = []byte(`"content":"`)

// match returns the text of an event if it has the learned shape.
func (s *shape) match(data []byte) (string, bool) {
	s.study()
	if s.prefix == nil || len(data) < len(s.prefix)+len(s.suffix) ||
		!bytes.HasPrefix(data, s.prefix) || !bytes.HasSuffix(data, s.suffix) {
		return "", false
	}
	raw := data[len(s.prefix) : len(data)-len(s.suffix)]
	plain := len(raw) > 0
	for _, c := range raw {
		if c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return string(raw), true
	}
	var text string
	quoted := data[len(s.prefix)-1 : len(data)-len(s.suffix)+1]
	if json.Unmarshal(quoted, &text) != nil || text == "" {
		return "", false
	}
	return text, true
}

// teach keeps an event that was parsed as w and has a text. It is analysed when the next event arrives,
// so that this one, which may contain the first text of the answer, is not delayed.
func (s *shape) teach(data []byte, w *wireChunk) {
	if s.lessons < maxLessons {
		s.lessons++
		s.event, s.parsed = bytes.Clone(data), w
	}
}

// study learns the shape of the event that was kept, if any.
func (s *shape) study() {
	if s.event == nil {
		return
	}
	s.learn(s.event, s.parsed)
	s.event, s.parsed = nil, nil
}

func (s *shape) learn(data []byte, w *wireChunk) {
	s.prefix, s.suffix = nil, nil
	start := bytes.Index(data, contentKey) + len(contentKey)
	if start < len(contentKey) {
		return
	}
	end := start
	for end < len(data) && data[end] != '"' {
		if data[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(data) {
		return
	}
	prefix, suffix := bytes.Clone(data[:start]), bytes.Clone(data[end:])
	if onlyTextVaries(prefix, suffix, w) {
		s.prefix, s.suffix = prefix, suffix
	}
}

// onlyTextVaries reports whether an event with another text between prefix and suffix has exactly that
// text and no other content.
func onlyTextVaries(prefix, suffix []byte, w *wireChunk) bool {
	const other = "another text"
	var probe wireChunk
	event := append(append(bytes.Clone(prefix), other...), suffix...)
	if json.Unmarshal(event, &probe) != nil || len(probe.Choices) != 1 || len(w.Choices) != 1 {
		return false
	}
	want := *w
	want.Choices = []wireChoice{{Index: 0, Delta: wireDelta{Content: other}}}
	c := w.Choices[0]
	mute := c.Index == 0 && c.FinishReason == "" && !present(c.ContentFilterResults) && !present(w.Usage) &&
		!present(w.Error) && !present(w.PromptFilterResults)
	probe.Choices[0].ContentFilterResults = nil
	return mute && reflect.DeepEqual(want, probe)
}
