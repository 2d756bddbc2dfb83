package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documents name what holds each of their rules and figures.
var (
	namedDocuments = []string{"conformance.md", "hardening.md", "measurements.md"}
	namedTest      = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*)`")
	namedFixtures  = regexp.MustCompile("fixtures? ((?:`[a-z0-9-]+`(?:, )?)+)")
	namedTarget    = regexp.MustCompile("`make ([a-z]+)`")
	namedScript    = regexp.MustCompile("`(\\.ci/[a-z]+)`")
	namedBench     = regexp.MustCompile(`-bench '?([A-Za-z_]+)`)
	namedRun       = regexp.MustCompile(`-run '?(Test[A-Za-z_0-9]+)`)
	namedSection   = regexp.MustCompile(`go run \./test/bench ([a-z]+)`)
	testFunction   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]*)\(`)
	ruleID         = regexp.MustCompile(`<a id="([A-Z][0-9]+)"></a>([A-Z][0-9]+)`)
)

func TestDocuments_NameTestsFixturesAndTargetsThatExist(t *testing.T) {
	tests, fixtures := testsAndFixtures(t)
	all := strings.Join(tests, "\n")
	makefile, bench := read(t, "../Makefile"), read(t, "../test/bench/main.go")
	for _, name := range namedDocuments {
		text := read(t, "../docs/"+name)
		missing := func(what, found string) {
			t.Errorf("docs/%s names %s %s, which does not exist: name there what holds the rule now", name, what, found)
		}
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			if !strings.Contains("\n"+all+"\n", "\n"+m[1]+"\n") {
				missing("the test", m[1])
			}
		}
		for _, m := range namedFixtures.FindAllStringSubmatch(text, -1) {
			for fixture := range strings.SplitSeq(m[1], ", ") {
				if fixture = strings.Trim(fixture, "`, "); fixture != "" && !fixtures[fixture] {
					missing("the fixture", fixture)
				}
			}
		}
		for _, m := range namedTarget.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				missing("the make target", m[1])
			}
		}
		for _, m := range namedScript.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat("../" + m[1]); err != nil {
				missing("the script", m[1])
			}
		}
		for _, m := range namedSection.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(bench, `{"`+m[1]+`", `) {
				missing("the section of test/bench", m[1])
			}
		}
		for _, m := range namedBench.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^Benchmark.*` + m[1]).MatchString(all) {
				missing("the benchmark", m[1])
			}
		}
		for _, m := range namedRun.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + m[1]).MatchString(all) {
				missing("the test", m[1])
			}
		}
	}
}

// Comments in code name rules and rows by their identifiers.
func TestDocuments_HaveEachRuleOnceUnderItsAnchor(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"conformance.md", "hardening.md"} {
		for _, m := range ruleID.FindAllStringSubmatch(read(t, "../docs/"+name), -1) {
			if m[1] != m[2] {
				t.Errorf("docs/%s: the anchor of %s is %s", name, m[2], m[1])
			}
			if at, twice := seen[m[1]]; twice {
				t.Errorf("docs/%s: %s is also in docs/%s", name, m[1], at)
			}
			seen[m[1]] = name
		}
	}
}

func testsAndFixtures(t *testing.T) (tests []string, fixtures map[string]bool) {
	t.Helper()
	fixtures = map[string]bool{}
	for _, dir := range []string{".", "../cmd", "../test"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "node_modules":
				return fs.SkipDir
			case strings.HasSuffix(path, "_test.go"):
				for _, m := range testFunction.FindAllStringSubmatch(read(t, path), -1) {
					tests = append(tests, m[1])
				}
			case strings.HasSuffix(path, ".txtar"):
				fixtures[strings.TrimSuffix(d.Name(), ".txtar")] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tests, fixtures
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	anchorID   = regexp.MustCompile(`<a id="([^"]+)">`)
	fenced     = regexp.MustCompile("(?s)```.*?```")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	noSlug     = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links between the documents of the repository lead to files and headings that are there.
func TestDocuments_LinkToWhatIsThere(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "wire/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, from := range documents {
		text := codeSpan.ReplaceAllString(fenced.ReplaceAllString(read(t, from), ""), "")
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			to := from
			if path != "" {
				to = filepath.Join(filepath.Dir(from), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", from, m[1])
			} else if anchor != "" && !hasAnchor(read(t, to), anchor) {
				t.Errorf("%s links to %s, which has no such heading", from, m[1])
			}
		}
	}
}

// hasAnchor reports whether a Markdown text has the anchor, of an element or as GitHub makes it of a heading.
func hasAnchor(text, anchor string) bool {
	for _, m := range anchorID.FindAllStringSubmatch(text, -1) {
		if m[1] == anchor {
			return true
		}
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		if strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// Every module that the program requires directly has its reason in the table of docs/decisions.md.
func TestDocuments_GiveAReasonForEachDependency(t *testing.T) {
	direct, _, _ := strings.Cut(read(t, "../go.mod"), "\n)")
	decisions := read(t, "../docs/decisions.md")
	_, table, _ := strings.Cut(decisions, "# Dependencies\n")
	version := regexp.MustCompile(`/v[0-9]+$`)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(direct, -1) {
		module := version.ReplaceAllString(strings.TrimPrefix(m[1], "github.com/"), "")
		if name := strings.TrimPrefix(module, "golang.org/"); !strings.Contains(table, name) {
			t.Errorf("docs/decisions.md has no reason for %s: add a row to its table of dependencies", m[1])
		}
	}
}
