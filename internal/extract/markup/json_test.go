package markup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestJSON_MakesLinesOfRecords(t *testing.T) {
	long := strings.Repeat("word ", 120)
	for name, c := range map[string]struct{ file, data, want string }{
		"an array": {
			"a.json",
			`[{"name":"Ann","room":17,"tags":["a","b"],"none":null,"off":false}, {"name":"Bob","home":{"city":"Bonn","zip":"53111"},"jobs":[{"at":"X"},{"at":"Y"}]}]`,
			"P name: Ann⏎room: 17⏎tags: a, b⏎off: false\nP name: Bob⏎home: city: Bonn; zip: 53111⏎jobs: (at: X), (at: Y)\n",
		},
		"lines": {
			"a.jsonl",
			"{\"id\":1,\"text\":\"one\"}\n\n{\"id\":2,\"text\":\"two\"}\n{\"id\":3",
			"P id: 1⏎text: one\nP id: 2⏎text: two\n",
		},
		"a frame around records": {
			"a.json",
			`{"version": 1.50, "people": [{"n":"a"},{"n":"b"}]}`,
			"P version: 1.50\nH1 people\nP n: a\nP n: b\n",
		},
		"one value":    {"a.json", `"hello"`, "P hello\n"},
		"several":      {"a.json", "{\"a\":1} {\"a\":2}", "P a: 1\nP a: 2\n"},
		"long records": {"a.json", `[{"Title":"On words","text":"` + long + `"}]`, "H2 On words\nP Title: On words⏎text: " + strings.TrimSpace(long) + "\n"},
		"vectors and encoded": {
			"a.json",
			`{"t":"x","v":[` + strings.Repeat("0.5,", 100) + `1],"b":"` + strings.Repeat("QUJD", 300) + `"}`,
			"P t: x\n",
		},
		"other encodings": {"a.json", "\xff\xfe" + string(extracttest.UTF16LE(`{"a":"b"}`)), "P a: b\n"},
		"cut off":         {"a.json", `[{"a":1},{"a":2},{"a`, "P a: 1\nP a: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, c.file, []byte(c.data)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// No line repeats the way to it: what is short stands on one line, what is long below a heading.
func TestJSON_SaysOnceWhereAValueStands(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	for name, c := range map[string]struct{ data, want string }{
		"objects": {
			`{"info":{"title":"API","version":"1"},"paths":{"/users":{"get":{"summary":"` + long + `","codes":{"200":{"means":"ok"},"404":{}}},"post":{"tags":["a","b"]}}}}`,
			"P info: title: API; version: 1\nH2 paths\nH3 /users\nP post: tags: a, b\nH4 get\nP summary: " + long + "⏎codes: 200: (means: ok)\n",
		},
		"lists": {
			`{"steps":[[{"name":"First","text":"` + long + long + `"},{"text":"` + long + `"},{"name":"x"}],[{"n":1}]],"rows":[["a",1],["b",2]]}`,
			"P rows: (a, 1), (b, 2)\nH2 steps\nH3 1\nH4 First\nP name: First⏎text: " + long + long + "\nH4 2\nP text: " + long + "\nH4 x\nP name: x\nH3 2\nP (n: 1)\n",
		},
		"texts of several lines": {`{"a":{"text":"one\ntwo"},"b":{"text":"one "}}`, "P b: text: one\nH2 a\nP text: one⏎two\n"},
		"many levels": {
			`{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":"` + long + `","i":[1]},"j":2}}}}}}}`,
			"H2 a\nH3 b\nH4 c\nH5 d\nH6 e\nH6 e.f\nP j: 2\nH6 e.f.g\nP h: " + long + "⏎i: 1\n",
		},
		"outlines": {
			`{"name":"Bonn","at":[50.7,7.1],"outline":[[` + strings.Repeat("[50.7,7.1],", 40) + `[50.7,7.1]]]}`,
			"P name: Bonn⏎at: 50.7, 7.1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, "a.json", []byte(c.data)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSON_RefusesWithAReason(t *testing.T) {
	for data, want := range map[string]extract.Reason{
		"{not json":                  extract.Damaged,
		"hello":                      extract.Damaged,
		"[]":                         extract.Empty,
		"null":                       extract.Empty,
		strings.Repeat("[", 1000):    extract.TooLarge,
		strings.Repeat("[", 100_000): extract.TooLarge,
		`{"a":` + strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 501): extract.TooLarge,
	} {
		extracttest.WantReason(t, "a.json", []byte(data), extract.Limits{}, want)
	}
	extracttest.WantReason(t, "a.jsonl", []byte("{}\n[]\nx\ny\nz\nw\n"), extract.Limits{}, extract.Damaged)
	many := "{\"a\":[" + strings.Repeat("1,", jsonValues) + "1]}"
	extracttest.WantReason(t, "a.json", []byte(many), extract.Limits{}, extract.TooLarge)
}
