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
			"P name: Ann⏎room: 17⏎tags: a, b⏎off: false\nP name: Bob⏎home.city: Bonn⏎home.zip: 53111⏎jobs.1.at: X⏎jobs.2.at: Y\n",
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

// No line of a long object repeats the way to it: its long parts have headings, the short ones paths.
func TestJSON_GivesLongPartsHeadings(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	data := `{"info":{"title":"API","version":"1"},"paths":{"/users":{"get":{"summary":"` + long + `","codes":{"200":"ok"}},"post":{"summary":"` + long +
		`","tags":["a","b"]}}},"steps":[[{"name":"First","text":"` + long + `"},{"text":"` + long + long + `"},{"name":"x"}]]}`
	want := "P info.title: API⏎info.version: 1\nH2 paths\nH3 /users\n" +
		"P get.summary: " + long + "⏎get.codes.200: ok⏎post.summary: " + long + "⏎post.tags: a, b\n" +
		"H2 steps\nH3 1\nP 1.name: First⏎1.text: " + long + "⏎3.name: x\nH4 2\nP text: " + long + long + "\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.json", []byte(data)))); diff != "" {
		t.Error(diff)
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
