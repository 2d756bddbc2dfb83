package metadata

import "testing"

func TestPatternOf_MatchesPathsBelowTheFolder(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*.pdf", []string{"a.pdf", "x/y/a.pdf"}, []string{"a.pdfx", "a.txt"}},
		{"a.pdf", []string{"a.pdf", "x/a.pdf"}, []string{"xa.pdf", "a.pdf/b"}},
		{"x/*.pdf", []string{"x/a.pdf"}, []string{"a.pdf", "x/y/a.pdf", "z/x/a.pdf"}},
		{"x/**", []string{"x/a", "x/y/z"}, []string{"x", "z/x/a"}},
		{"**/y/*", []string{"y/a", "x/y/a", "w/x/y/a"}, []string{"xy/a", "y/a/b"}},
		{"a?[1].md", []string{"ab[1].md"}, []string{"a1.md", "a/[1].md", "abb1.md"}},
		{"./x/a", []string{"x/a"}, []string{"a"}},
	} {
		re, err := patternOf(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range c.yes {
			if !re.MatchString(path) {
				t.Errorf("%q does not match %q", c.pattern, path)
			}
		}
		for _, path := range c.no {
			if re.MatchString(path) {
				t.Errorf("%q matches %q", c.pattern, path)
			}
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("category: a\ngroups: [b]\nfiles:\n  \"*.md\": {users: c}\n"), "x/y.md")
	f.Add([]byte("files: &x {a: *x}"), "a")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		r := &Rules{dir: "."}
		if r.parse(data) != nil {
			return
		}
		if _, err := r.about(name, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestPatternOf_AsterisksInARowAreAnyFolders(t *testing.T) {
	for pattern, paths := range map[string]map[string]bool{
		"***/a.md": {"a.md": true, "x/y/a.md": true, "xa.md": false}, "x****": {"x": true, "xy/z.md": true, "a/x": true},
	} {
		matches, err := patternOf(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range paths {
			if matches.MatchString(path) != want {
				t.Errorf("%s matches %s: %t", pattern, path, !want)
			}
		}
	}
}
