package filesapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"parley/internal/wire"
	"parley/internal/wire/openai"
)

func has(list []string, s string) bool { return slices.Contains(list, s) }

// quoted quotes and shortens a client's text for use in an error message.
func quoted(s string) string { return strconv.Quote(wire.Clip(s)) }

// The limits of OpenAI's API. Texts are measured in characters.
const (
	maxKeys        = 16
	maxKeyRunes    = 64
	maxValueRunes  = 512
	maxName        = 256
	maxDescription = 4096
	maxBatch       = 500 // files
)

// metadataOf checks an object of strings and returns it; nil if there is none.
func metadataOf(v wire.Value) (json.RawMessage, error) {
	return objectOf(v, "metadata", "strings", func(v wire.Value) bool {
		text, ok := v.Text()
		return ok && utf8.RuneCountInString(text) <= maxValueRunes
	})
}

// attributesOf checks an object of strings, numbers and booleans, and returns it; nil if there is none.
func attributesOf(v wire.Value, param string) (json.RawMessage, error) {
	return objectOf(v, param, "strings, numbers and booleans", func(v wire.Value) bool {
		value, ok := v.Scalar()
		text, _ := value.(string)
		return ok && utf8.RuneCountInString(text) <= maxValueRunes
	})
}

func objectOf(v wire.Value, param, of string, fits func(wire.Value) bool) (json.RawMessage, error) {
	if !v.IsGiven() {
		return nil, nil
	}
	object, ok := v.Object()
	n := 0
	for key, v := range object.Members() {
		n++
		ok = ok && n <= maxKeys && utf8.RuneCountInString(key) <= maxKeyRunes && fits(v)
	}
	if !ok {
		return nil, openai.Refusef(param, openai.Invalid, "%q must be an object of at most %d %s, with keys of at most %d characters and texts of at most %d.",
			param, maxKeys, of, maxKeyRunes, maxValueRunes)
	}
	return v.Compact(), nil
}

// textOf returns a text, which may have up to most characters; "" if it is absent.
func textOf(v wire.Value, param string, most int) (string, error) {
	if !v.IsGiven() {
		return "", nil
	}
	text, ok := v.Text()
	if !ok || utf8.RuneCountInString(text) > most {
		return "", openai.Refusef(param, openai.Invalid, "%q must be a string of at most %d characters.", param, most)
	}
	return text, nil
}

// checkChunking checks a chunking strategy. It has no effect, because the server decides how to split files.
func checkChunking(object wire.Object) error {
	var in struct {
		Chunking wire.Value `json:"chunking_strategy"`
	}
	object.Read(&in)
	if !in.Chunking.IsGiven() {
		return nil
	}
	var strategy struct {
		Type wire.Value `json:"type"`
	}
	in.Chunking.Read(&strategy)
	if name, _ := strategy.Type.Text(); name != "auto" && name != "static" {
		return openai.Refusef("chunking_strategy", openai.Invalid, `"chunking_strategy.type" must be "auto" or "static".`)
	}
	return nil
}
