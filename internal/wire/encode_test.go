package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendString_EscapesWhatEndsALineForSomeReader(t *testing.T) {
	got := string(AppendString(nil, "a\"\\\n\r\t\x00\x1f\x7f<&>é\u0085\u2028\u2029\xff😀"))
	want := `"a\"\\\n\r\t\u0000\u001f` + "\x7f" + `<&>é\u0085\u2028\u2029\ufffd😀"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAppendJSON_EscapesTheSame(t *testing.T) {
	got, err := AppendJSON([]byte("x"), map[string]string{"a": "<&>\u0085\u2028"})
	if err != nil || string(got) != `x{"a":"<&>\u0085\u2028"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := AppendJSON(nil, func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\x00\u2028\xff")
	f.Fuzz(func(t *testing.T, s string) {
		encoded := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, encoded, err)
		}
		if want := strings.ToValidUTF8(s, ""); strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("%q came back as %q", s, got)
		}
		if bytes.ContainsAny(encoded, "\n\r\u0085\u2028\u2029") {
			t.Errorf("%q holds the end of a line", encoded)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	var buf []byte
	for b.Loop() {
		buf = AppendString(buf[:0], " the plans also cover \"preventive\" care")
	}
}
