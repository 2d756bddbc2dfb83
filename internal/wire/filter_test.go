package wire_test

import (
	"strings"
	"testing"

	"parley/internal/attribute"
	"parley/internal/wire"
)

func TestFilter_ComparesValuesOfOneType(t *testing.T) {
	attributes := attribute.Decode([]byte(`{"n":5,"s":"b","yes":true,"tags":["policy","hr"],"date":"2026-11-29","at":"2026-11-29T23:30:00-02:00"}`))
	for text, want := range map[string]bool{
		`{"type":"eq","key":"n","value":5}`: true, `{"type":"eq","key":"n","value":5.5}`: false, `{"type":"eq","key":"yes","value":true}`: true,
		`{"type":"eq","key":"none","value":1}`: false, `{"type":"ne","key":"none","value":1}`: true, `{"type":"ne","key":"s","value":"b"}`: false,
		`{"type":"gt","key":"n","value":4}`: true, `{"type":"gte","key":"n","value":5}`: true, `{"type":"lt","key":"n","value":5}`: false,
		`{"type":"lte","key":"n","value":5}`: true, `{"type":"lt","key":"s","value":"c"}`: true, `{"type":"gt","key":"s","value":1}`: false,
		`{"type":"lt","key":"none","value":1}`: false, `{"type":"gt","key":"yes","value":false}`: false,
		`{"type":"in","key":"s","value":["a","b"]}`: true, `{"type":"in","key":"n","value":[]}`: false,
		`{"type":"nin","key":"s","value":["a"]}`: true, `{"type":"nin","key":"none","value":["a"]}`: true,
		`{"type":"and","filters":[{"type":"eq","key":"n","value":5},{"type":"or","filters":[{"type":"eq","key":"s","value":"x"},{"type":"eq","key":"yes","value":true}]}]}`: true,
		// Of a list, one value is enough; dates are compared as such.
		`{"type":"eq","key":"tags","value":"hr"}`: true, `{"type":"ne","key":"tags","value":"hr"}`: false, `{"type":"nin","key":"tags","value":["x","policy"]}`: false,
		`{"type":"in","key":"tags","value":["x","policy"]}`: true, `{"type":"eq","key":"tags","value":"policy,hr"}`: false,
		`{"type":"gte","key":"date","value":"2026-11-29T00:00:00Z"}`: true, `{"type":"lt","key":"date","value":"2026-11-29"}`: false,
		`{"type":"gt","key":"s","value":"2026-01-01"}`: false, `{"type":"lt","key":"s","value":"2026-01-01"}`: false, `{"type":"ne","key":"s","value":"2026-01-01"}`: true,
		`{"type":"gte","key":"date","value":"2026"}`: true, `{"type":"lt","key":"date","value":"2026-11"}`: false, `{"type":"in","key":"at","value":["2026-11-30T01:30:00Z"]}`: true,
		`{"type":"gt","key":"at","value":"2026-11-30"}`: true, `{"type":"eq","key":"at","value":"2026-11-30T01:30:00Z"}`: true,
		`{"type":"and","filters":[{"type":"eq","key":"n","value":5},{"type":"eq","key":"s","value":"x"}]}`: false,
	} {
		c, wrong := wire.FilterOf([]byte(text))
		if wrong != "" || c.Holds(attributes) != want || c.Holds(attributes.Prepared()) != want {
			t.Errorf("%s: %v, %s", text, c.Holds(attributes), wrong)
		}
	}
	for _, text := range []string{
		`1`, `[]`, `{}`, `{"type":"and"}`, `{"type":"or","filters":[]}`, `{"type":"or","filters":[1]}`, `{"type":"eq","key":"","value":1}`,
		`{"type":"eq","key":"a"}`, `{"type":"eq","key":"a","value":null}`, `{"type":"eq","key":"a","value":[1]}`, `{"type":"in","key":"a","value":1}`,
		`{"type":"in","key":"a","value":[null]}`, `{"type":"like","key":"a","value":1}`, `{"type":"EQ","key":"a","value":1}`,
		`{"type":"and","filters":[` + strings.TrimSuffix(strings.Repeat(`{"type":"eq","key":"a","value":1},`, 300), ",") + `]}`,
	} {
		if _, wrong := wire.FilterOf([]byte(text)); wrong == "" {
			t.Errorf("%.60s is taken", text)
		}
	}
}
