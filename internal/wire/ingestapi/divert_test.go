package ingestapi

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"parley/internal/wire"
)

func FuzzDivert(f *testing.F) {
	f.Add(`{"file":"QUJD","filename":"a.pdf"}`)
	f.Add(`{"a":["file",{"file":"x"}],"file" : "A\/=","\"file":1}`)
	f.Add(`{"file":"data:a/b;base64,QUJD","file2":{"file":"x"}}`)
	f.Add(`{"file":"` + "\x00")
	f.Add(`{"file":"data:` + "\x00" + `"}`)
	f.Fuzz(func(t *testing.T, body string) {
		var taken []byte
		var calls int
		rest, err := divert(strings.NewReader(body), "file", 1<<20, func(r io.Reader) (err error) {
			calls++
			taken, err = io.ReadAll(base64Reader(r))
			return err
		})
		if calls > 1 {
			t.Fatalf("%q: the file was taken %d times", body, calls)
		}
		if err != nil {
			return
		}
		object, err := wire.ParseObject(rest)
		if err != nil {
			return
		}
		// The rest is the body without the file.
		var whole map[string]any
		if json.Unmarshal([]byte(body), &whole) != nil {
			t.Fatalf("%q is no JSON, but %q is taken for it", body, rest)
		}
		given, isText := whole["file"].(string)
		if _, there := object.Get("file"); there && isText && calls != 1 {
			t.Fatalf("%q: the file was not taken", body)
		}
		if want, err := base64.StdEncoding.DecodeString(given); calls == 1 && err == nil && string(want) != string(taken) {
			t.Fatalf("%q: the file is %q, want %q", body, taken, want)
		}
	})
}
