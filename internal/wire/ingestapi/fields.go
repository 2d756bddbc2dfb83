package ingestapi

import (
	"fmt"
	"math"

	"parley/internal/wire"
)

// fields reads members of an object and keeps the first error. Null counts as absent. Where a number or a boolean
// is expected, a string that contains one is accepted, because some clients send the values of input fields unchanged.
type fields struct {
	o   wire.Object
	err error
}

func (f *fields) get(key string) (wire.Value, bool) {
	v, _ := f.o.Get(key)
	return v, v.IsGiven()
}

func (f *fields) wrong(key, want string) {
	if f.err == nil {
		f.err = unprocessable("%q must be %s.", key, want)
	}
}

func (f *fields) text(key string) string {
	v, given := f.get(key)
	if !given {
		return ""
	}
	text, ok := v.Text()
	if !ok {
		f.wrong(key, "a string")
	}
	return text
}

// number reads a whole number from least to most; 0 if absent.
func (f *fields) number(key string, least, most int) int {
	v, given := f.get(key)
	if !given {
		return 0
	}
	n, ok := v.Number()
	if !ok || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		f.wrong(key, fmt.Sprintf("a whole number from %d to %d", least, most))
		return 0
	}
	return int(n)
}

func (f *fields) flag(key string) bool {
	v, given := f.get(key)
	if !given {
		return false
	}
	if text, isText := v.Text(); isText {
		switch text {
		case "true":
			return true
		case "false", "":
			return false
		}
	}
	b, ok := v.Bool()
	if !ok {
		f.wrong(key, "true or false")
	}
	return b
}

// texts reads a list of at most most strings. It skips empty strings, which do not count.
func (f *fields) texts(key string, most int) []string {
	v, given := f.get(key)
	if !given {
		return nil
	}
	elements, ok := v.Elements()
	if !ok {
		f.wrong(key, "a list of strings")
		return nil
	}
	var all []string
	for e := range elements {
		text, ok := e.Text()
		if !ok {
			f.wrong(key, "a list of strings")
			return nil
		}
		if text == "" {
			continue
		}
		if len(all) == most {
			f.err = unprocessable("%q may hold %d strings at most.", key, most)
			return nil
		}
		all = append(all, text)
	}
	return all
}
