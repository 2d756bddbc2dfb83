package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/chat"
)

func TestParseObject_RefusesWithOneClearSentence(t *testing.T) {
	cases := []struct{ name, body, want string }{
		{"empty", "", "the request body is empty; a JSON object was expected"},
		{"only space", " \n\t", "the request body is empty; a JSON object was expected"},
		{"array", "[]", "the request body must be a JSON object"},
		{"string", `"x"`, "the request body must be a JSON object"},
		{"NaN", `{"top":NaN}`, "the request body is not valid JSON: unexpected 'N' at byte 7"},
		{"Infinity", `{"top":-Infinity}`, "the request body is not valid JSON: unexpected 'I' at byte 8"},
		{"leading zero", `{"top":01}`, "the request body is not valid JSON: unexpected '1' at byte 8"},
		{"no fraction", `{"top":1.}`, "the request body is not valid JSON: unexpected '}' at byte 9"},
		{"no exponent", `{"top":1e+}`, "the request body is not valid JSON: unexpected '}' at byte 10"},
		{"number beyond float64", `{"a":[{"b":-1e999}]}`, "the request body has the number -1e999, which is too large"},
		{"400 digits", `{"a":` + strings.Repeat("9", 400) + `}`, "the request body has the number " + strings.Repeat("9", 40) + "…, which is too large"},
		{"comment", "{\"a\":1} # note", "the request body is not valid JSON: unexpected '#' at byte 8"},
		{"two values", `{}{}`, "the request body is not valid JSON: unexpected '{' at byte 2"},
		{"trailing comma", `{"a":1,}`, "the request body is not valid JSON: unexpected '}' at byte 7"},
		{"trailing comma in a list", `{"a":[1,]}`, "the request body is not valid JSON: unexpected ']' at byte 8"},
		{"leading comma", `{,"a":1}`, "the request body is not valid JSON: unexpected ',' at byte 1"},
		{"no colon", `{"a" 1}`, "the request body is not valid JSON: unexpected '1' at byte 5"},
		{"bare key", `{a:1}`, "the request body is not valid JSON: unexpected 'a' at byte 1"},
		{"single quotes", `{'a':1}`, `the request body is not valid JSON: unexpected '\'' at byte 1`},
		{"cut", `{"a":`, "the request body is not valid JSON: it ends too early"},
		{"cut in a string", `{"a`, "the request body is not valid JSON: it ends too early"},
		{"cut in an escape", `{"a\`, "the request body is not valid JSON: it ends too early"},
		{"cut in a literal", `{"a":tru`, "the request body is not valid JSON: it ends too early"},
		{"misspelt literal", `{"a":trux}`, "the request body is not valid JSON: unexpected 'x' at byte 8"},
		{"unknown escape", `{"a":"\x"}`, "the request body is not valid JSON: unexpected 'x' at byte 7"},
		{"short \\u", `{"a":"\u12g4"}`, "the request body is not valid JSON: unexpected 'g' at byte 10"},
		{"raw newline in a string", "{\"a\":\"\n\"}", `the request body is not valid JSON: unexpected '\n' at byte 6`},
		{"mixed brackets", `{"a":[1}`, "the request body is not valid JSON: unexpected '}' at byte 7"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "the request body is not valid UTF-8 at byte 6"},
		{"cut UTF-8", "{\"a\":\"\xe2\x82\"}", "the request body is not valid UTF-8 at byte 6"},
		{"same key twice", `{"a":1,"b":2,"a":3}`, `the request body has the key "a" twice in one object`},
		{"same key twice, once escaped", `{"a":1,"\u0061":3}`, `the request body has the key "a" twice in one object`},
		{"same key twice, deep", `{"x":[{"k":1,"k":1}]}`, `the request body has the key "k" twice in one object`},
		{"10,001 members", `{"a":{` + members(10_001) + `}}`, "the request body has an object of more than 10000 members"},
		{"depth 65", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), "the request body nests deeper than 64 levels"},
		{"depth 10,000", strings.Repeat("[", 10_000), "the request body nests deeper than 64 levels"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseObject([]byte(c.body))
			if chat.KindOf(err) != chat.Invalid || err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestParseObject_AcceptsWhatIsOnlyUnusual(t *testing.T) {
	for _, body := range []string{
		`{"a":{` + members(10_000) + `},"b":{` + members(10_000) + `}}`,
		` { } `, `{"a":{"a":{"a":1}},"A":1,"":2}`, `{"a":"\ud800 \ud83d\ude00 \/"}`, `{"a":-0.0e-7}`,
		`{"a":[1e-999,1.7976931348623157e308,12345678901234567890123,0.` + strings.Repeat("1", 400) + `]}`,
		"{\"a\":[[],{},\"\",null,true,false]}\r\n",
		strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
	} {
		if _, err := ParseObject([]byte(body)); err != nil {
			t.Errorf("%s: %v", clip(body), err)
		}
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%x":1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// Row R13 of HARDENING.md bounds what a hostile body may cost: ten times its own size.
func TestParseObject_AllocatesLittle(t *testing.T) {
	const size = 1 << 20
	keys := func(format string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := 0; b.Len() < size-20; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + `"z":1}`
	}
	bodies := map[string]string{
		"many messages":      `{"messages":[` + strings.Repeat("{},", size/3) + `{}]}`,
		"many keys":          keys(`"%x":1,`),
		"many escaped keys":  keys(`"\u0061%x":1,`),
		"deep":               strings.Repeat("[", size),
		"one string":         `{"a":"` + strings.Repeat(`\u00e9`, size/6) + `"}`,
		"invalid at its end": `{"a":"` + strings.Repeat("x", size) + "\xff",
	}
	for name, body := range bodies {
		var before, after runtime.MemStats
		raw := []byte(body)
		runtime.ReadMemStats(&before)
		object, err := ParseObject(raw)
		if err == nil {
			for _, v := range object.Members() {
				_, _ = v.Text()
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 3*uint64(len(raw)) {
			t.Errorf("%s: %d bytes allocated for a body of %d", name, used, len(raw))
		}
	}
}

func TestValue_ReadsEachKind(t *testing.T) {
	object, err := ParseObject([]byte(` {"s" : "a\u00e9\ud83d\ude00\ud800\"\\\/\b\f\n\r\t", "n":[ 1, "2.5" ," 3 ", "NaN", "0x1", "", "1e999", true ],
		"o":{"in":{"x":"}]"}}, "t":true,"f":false,"z":null} `))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := object.Get("s")
	if text, ok := s.Text(); !ok || text != "aé😀\ufffd\"\\/\b\f\n\r\t" {
		t.Errorf("string: %q %v", text, ok)
	}
	n, _ := object.Get("n")
	elements, ok := n.Elements()
	if !ok {
		t.Fatal("no list")
	}
	var got []string
	for e := range elements {
		f, ok := e.Number()
		got = append(got, fmt.Sprint(f, ok))
	}
	if want := "1 true,2.5 true,3 true,0 false,0 false,0 false,0 false,0 false"; strings.Join(got, ",") != want {
		t.Errorf("numbers: %v", got)
	}
	o, _ := object.Get("o")
	if got := string(o.Compact()); got != `{"in":{"x":"}]"}}` {
		t.Errorf("object: %s", got)
	}
	tr, _ := object.Get("t")
	fa, _ := object.Get("f")
	z, _ := object.Get("z")
	missing, found := object.Get("missing")
	if b, ok := tr.Bool(); !b || !ok {
		t.Error("true")
	}
	if b, ok := fa.Bool(); b || !ok {
		t.Error("false")
	}
	if !z.IsNull() || found || missing.IsNull() {
		t.Error("null")
	}
	if _, ok := missing.Text(); ok {
		t.Error("a missing value has a text")
	}
}

func TestProbe_SeesTheKeysOfTheDispatch(t *testing.T) {
	cases := []struct {
		body string
		want Probe
	}{
		{`{}`, Probe{}},
		{`{"message":"hi"}`, Probe{HasMessage: true, MessageIsString: true}},
		{`{"message":{"a":1}}`, Probe{HasMessage: true}},
		{`{"messages":[],"stream":null}`, Probe{HasMessages: true, HasStream: true}},
		{`{"context":{"messages":1,"stream":1}}`, Probe{}},
		{`{"Messages":[]}`, Probe{}},
		{`{"\u006dessages":[]}`, Probe{HasMessages: true}},
	}
	for _, c := range cases {
		if got, err := (&Request{Body: []byte(c.body)}).Probe(); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.body, got, err, c.want)
		}
	}
}

// FuzzParseObject compares the checker with encoding/json. A text that the checker accepts is valid. A
// text that it refuses is one that encoding/json cannot decode (it is invalid, or has a number beyond
// float64), or has one of the faults that encoding/json tolerates.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"\u00e9",true,null,{"b":{}}]}`, `{"a":1,"a":2}`, "{\"a\":\"\u2028\\\\\u0085\"}", "{\"a\":\"\xff\"}", `[]`, `{"a":"\ud83d\ude00"}`, `{`, `{"a":1E700}`, `1E700`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		object, err := ParseObject(body)
		if err == nil {
			compareWithEncodingJSON(t, object, body)
			return
		}
		strict := strings.Contains(err.Error(), "twice") || strings.Contains(err.Error(), "members") || strings.Contains(err.Error(), "deeper") ||
			strings.Contains(err.Error(), "must be a JSON object")
		var decoded any
		if json.Unmarshal(body, &decoded) == nil && utf8.Valid(body) && !strict {
			t.Errorf("refused valid JSON %q: %v", body, err)
		}
	})
}

// sameJSON reports whether two texts have the same value. It compares numbers as text.
func sameJSON(a, b []byte) bool {
	var values [2]any
	for i, text := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

func compareWithEncodingJSON(t *testing.T, object Object, body []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatalf("accepted %q: %v", body, err)
	}
	n := 0
	for key, v := range object.Members() {
		n++
		if string(want[key]) != string(v) {
			t.Errorf("member %q of %q is %q, want %q", key, body, v, want[key])
		}
		if c := v.Compact(); !sameJSON(c, v) || bytes.ContainsAny(c, "\n\r\u0085\u2028\u2029") {
			t.Errorf("compacting %q gave %q", v, c)
		}
		text, ok := v.Text()
		var s string
		if ok != (json.Unmarshal(v, &s) == nil && !v.IsNull()) || ok && s != text {
			t.Errorf("text of %q is %q, %v; want %q", v, text, ok, s)
		}
		if elements, ok := v.Elements(); ok {
			for e := range elements {
				if !json.Valid(e) {
					t.Errorf("element %q of %q", e, v)
				}
			}
		}
	}
	// Two keys whose lone surrogates both become U+FFFD count as the same key here too.
	if n != len(want) {
		t.Errorf("%q has %d members, want %d", body, n, len(want))
	}
}

func FuzzProbeBody(f *testing.F) {
	f.Add([]byte(`{"messages":[],"stream":true}`))
	f.Add([]byte(`{"message":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := (&Request{Body: body}).Probe()
		if err != nil && p != (Probe{}) {
			t.Errorf("%q gave %+v beside an error", body, p)
		}
		if p.MessageIsString && !p.HasMessage {
			t.Errorf("%q has a string where there is no message", body)
		}
	})
}
