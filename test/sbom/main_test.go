package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const lock = `{"packages": {
	"": {"name": "page", "dependencies": {"used": "1.0.0"}},
	"node_modules/used": {"version": "1.0.0", "license": "MIT", "integrity": "sha512-AQID"},
	"node_modules/used/node_modules/@scope/inner": {"version": "2.0.0"},
	"node_modules/other/node_modules/@scope/inner": {"version": "2.0.0"},
	"node_modules/tool": {"version": "3.0.0", "dev": true}
}}`

func TestRun_NamesWhatIsInABinaryAndInThePage(t *testing.T) {
	binary, err := os.Executable() // the test binary, which contains Go's library and no other module
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "package-lock.json")
	if err := os.WriteFile(path, []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run(out, binary, path); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("two runs differ")
	}
	var d document
	if err := json.Unmarshal(first.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Format != "CycloneDX" || d.Spec != "1.6" || d.Metadata.Component.Name != "parley" {
		t.Errorf("%+v", d)
	}
	got := map[string]component{}
	for _, c := range d.Components {
		if _, twice := got[c.URL]; twice {
			t.Errorf("%s stands there twice", c.URL)
		}
		got[c.URL] = c
	}
	used := got["pkg:npm/used@1.0.0"]
	if len(used.Hashes) != 1 || used.Hashes[0].Content != "010203" || len(used.Licenses) != 1 || used.Licenses[0].Expression != "MIT" {
		t.Errorf("the package of the page: %+v", used)
	}
	if _, ok := got["pkg:npm/%40scope/inner@2.0.0"]; !ok {
		t.Errorf("the package in a package is missing: %v", got)
	}
	if _, ok := got["pkg:npm/tool@3.0.0"]; ok {
		t.Error("a tool is named")
	}
	if len(d.Dependencies) != 1 || len(d.Dependencies[0].Uses) != len(d.Components) {
		t.Errorf("dependencies: %+v", d.Dependencies)
	}
}

func TestRun_SaysWhatItCannotRead(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, files := range [][2]string{{empty, empty}, {binary, empty}, {binary, empty + "x"}} {
		if err := run(new(bytes.Buffer), files[0], files[1]); err == nil {
			t.Errorf("%v: no error", files)
		}
	}
}
