package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the configuration tables in README.md and docs")

func TestDefaultConfig_IsValid(t *testing.T) {
	cfg := DefaultConfig()
	if err := cfg.validate(); err != nil {
		t.Fatal(err.at(""))
	}
}

func TestFields_NamesFollowFromTheKey(t *testing.T) {
	for _, f := range fields() {
		flag := strings.NewReplacer(".", "-", "_", "-").Replace(f.Key)
		env := "PARLEY_" + strings.ToUpper(strings.NewReplacer(".", "_").Replace(f.Key))
		if f.Name != flag || f.Envs[0] != env || f.Help == "" {
			t.Errorf("key %q has flag %q, environment %q and help %q; want %q and %q", f.Key, f.Name, f.Envs[0], f.Help, flag, env)
		}
	}
}

func TestConfigTable_IsWhatTheTagsSay(t *testing.T) {
	for path, table := range map[string]string{
		"../../README.md": configTable(essential), "../../docs/configuration.md": configTable(nil),
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const begin, end = "<!-- configuration table: make tables -->\n", "<!-- end of configuration table -->"
		head, rest, ok := strings.Cut(string(text), begin)
		old, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s lacks the comments around its configuration table", path)
		}
		if diff := cmp.Diff(old, table); diff != "" && !*update {
			t.Errorf("%s: run make tables (-file +tags):\n%s", path, diff)
		} else if diff != "" {
			if err := os.WriteFile(path, []byte(head+begin+table+end+tail), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// essential are the keys of the settings in README.md. Most users need no others.
var essential = []string{
	"addr", "data", "model", "namespace", "public_url", "cors_origins", "openai.api_key", "openai.base_url",
	"azure_openai.endpoint", "azure_openai.api_key", "anthropic.api_key", "gemini.api_key", "ollama.host",
	"embedding", "fallback", "limits.max_concurrent", "budgets.user.requests",
}

// configTable describes the settings with these keys; nil means all, by section.
func configTable(keys []string) string {
	const header = "| key | default | meaning |\n|---|---|---|\n"
	var b strings.Builder
	section := ""
	if keys != nil {
		b.WriteString(header)
	}
	for _, f := range fields() {
		if keys != nil && !slices.Contains(keys, f.Key) {
			continue
		}
		if keys == nil && f.Section != section {
			section = f.Section
			fmt.Fprintf(&b, "\n### %s\n\n%s", section, header)
		}
		def := ""
		if f.Default != "" {
			def = "`" + f.Default + "`"
		}
		meaning := f.Help
		if others := f.Envs[1:]; len(others) > 0 { // besides the name that follows from the key
			meaning += " Also `" + strings.Join(others, "`, `") + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Key, def, meaning)
	}
	return b.String()
}

func TestFields_HaveASection(t *testing.T) {
	ended := map[string]bool{}
	for i, f := range fields() {
		if f.Section == "" {
			t.Errorf("the setting %s has no section", f.Key)
		}
		if ended[f.Section] {
			t.Errorf("the section %q of %s begins twice", f.Section, f.Key)
		}
		if i+1 < len(fields()) && fields()[i+1].Section != f.Section {
			ended[f.Section] = true
		}
	}
}

// effective runs `parley config` and returns its exit code, standard output and standard error.
func effective(t *testing.T, env map[string]string, args ...string) (int, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	code := run(t.Context(), append([]string{"config"}, args...), &stdout, &stderr, lookup)
	return code, stdout.String(), stderr.String()
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfig_FlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	file := writeFile(t, "namespace: from-file\ndrain: 3s\nmodel: openai:from-file\nlimits:\n  max_body: 2MiB\n")
	env := map[string]string{"PARLEY_CONFIG": file, "PARLEY_DRAIN": "4s", "PARLEY_MODEL": "openai:from-env", "PARLEY_DATA": ""}
	code, out, stderr := effective(t, env, "--model", "openai:from-flag")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		"model: openai:from-flag # --model\n",
		"drain: 4s # PARLEY_DRAIN\n",
		"namespace: from-file # " + file + ":1\n",
		"  max_body: 2MiB # " + file + ":5\n",
		"data: parley-data\n", // an empty variable counts as unset
		"addr: 127.0.0.1:8000\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in:\n%s", want, out)
		}
	}
}

func TestConfig_PrintsWhatTheFileReadsBack(t *testing.T) {
	_, first, _ := effective(t, nil, "--cors-origins", "https://a.example,https://b.example", "--retention", "12h", "--team-reviewer")
	code, second, stderr := effective(t, nil, "--config", writeFile(t, first))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	plain := func(s string) string {
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			lines[i], _, _ = strings.Cut(line, " # ")
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(plain(first), plain(second)); diff != "" {
		t.Error(diff)
	}
}

// Setting a removed setting is an error wherever it is set, because somebody relies on it.
func TestConfig_SaysThatASettingWasRemovedAndWhatToDo(t *testing.T) {
	for key, instead := range removed {
		if slices.ContainsFunc(fields(), func(f field) bool { return f.Key == key }) {
			t.Errorf("%s was not removed", key)
		}
		name := strings.NewReplacer(".", "-", "_", "-").Replace(key)
		section, last, nested := strings.Cut(key, ".")
		text := key + ": x\n"
		if nested {
			text = section + ":\n  " + last + ": x\n"
			if middle, last, deeper := strings.Cut(last, "."); deeper {
				text = section + ":\n  " + middle + ":\n    " + last + ": x\n"
			}
		}
		for at, try := range map[string]func() (int, string, string){
			"the file": func() (int, string, string) { return effective(t, nil, "--config", writeFile(t, text)) },
			"PARLEY_": func() (int, string, string) {
				return effective(t, map[string]string{"PARLEY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")): "x"})
			},
			"--" + name: func() (int, string, string) { return effective(t, nil, "--"+name+"=x") },
		} {
			code, _, stderr := try()
			if code != exitUsage || !strings.Contains(stderr, "the setting "+key+" was removed: "+instead) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s in %s: exit %d, %q", key, at, code, stderr)
			}
		}
	}
}

func TestConfig_NeverPrintsSecrets(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": "https://user:canary@models.example/v1"}
	_, out, stderr := effective(t, env)
	if strings.Contains(out+stderr, "canary") {
		t.Errorf("a secret was printed:\n%s%s", out, stderr)
	}
	if !strings.Contains(out, "api_key: (hidden) # OPENAI_API_KEY") {
		t.Errorf("the key does not show as set:\n%s", out)
	}
}

func TestConfig_SaysWhereAMistakeStands(t *testing.T) {
	cases := map[string]struct {
		file string
		env  map[string]string
		args []string
		want string // part of the message
	}{
		"unknown key":          {file: "addr: ':1'\nlisten: x\n", want: `parley.yaml:2: unknown key "listen"`},
		"key without section":  {file: "max_body: 1MiB", want: `unknown key "max_body"; did you mean "limits.max_body"?`},
		"key with dashes":      {file: "log-level: info", want: `did you mean "log_level"?`},
		"misspelt key":         {file: "mdoel: 'builtin:extractive'", want: `unknown key "mdoel"; did you mean "model"?`},
		"misspelt nested key":  {file: "budgets:\n  user:\n    csot: 5\n", want: `parley.yaml:3: unknown key "budgets.user.csot"; did you mean "budgets.user.cost"?`},
		"misspelt section":     {file: "limit: {max_body: 1MiB}", want: `unknown key "limit"; did you mean "limits"?`},
		"nothing like a key":   {file: "colour: red", want: "unknown key \"colour\"; `parley config` prints all keys"},
		"tab":                  {file: "limits:\n\tmax_body: 1MiB\n", want: "parley.yaml:2: is indented with a tab"},
		"nested unknown key":   {file: "openai:\n  key: x\n", want: `parley.yaml:2: unknown key "openai.key"`},
		"key twice":            {file: "addr: ':1'\naddr: ':2'\n", want: `parley.yaml:2: key "addr" appears twice`},
		"mapping for a scalar": {file: "addr: {host: x}", want: `parley.yaml:1: "addr" takes a single value`},
		"scalar for a section": {file: "openai: x", want: `parley.yaml:1: expected keys and values below "openai"`},
		"a list":               {file: "- addr", want: "parley.yaml:1: expected keys and values"},
		"broken YAML":          {file: "addr: [", want: "parley.yaml: line 1:"},
		"two documents":        {file: "addr: ':1'\n---\naddr: ':2'\n", want: "more than one YAML document"},
		"value in the file":    {file: "\ndrain: soon", want: `parley.yaml:2: "soon" is not a duration`},
		"value that can't be":  {file: "log_level: loud", want: `parley.yaml:1: "loud" is not one of debug`},
		"value in the env":     {env: map[string]string{"PARLEY_LIMITS_MAX_BODY": "many"}, want: `PARLEY_LIMITS_MAX_BODY: "many" is not a size`},
		"model in the env":     {env: map[string]string{"PARLEY_MODEL": "oracle:x"}, want: `PARLEY_MODEL: "oracle:x" names an unknown provider; there are builtin, openai, azure-openai, anthropic, gemini and ollama`},
		"model without name":   {args: []string{"--model", "openai"}, want: `--model: "openai" is not provider:model`},
		"no such port":         {args: []string{"--addr", "127.0.0.1:99999"}, want: `--addr: "127.0.0.1:99999" is not host:port`},
		"a folder for a file":  {args: []string{"--config", "."}, want: ". is a folder: name the configuration file"},
		"address":              {args: []string{"--addr", "8000"}, want: `--addr: "8000" is not host:port`},
		"origin with path":     {args: []string{"--cors-origins", "https://a.example/chat"}, want: `--cors-origins: "https://a.example/chat" is neither an origin`},
		"public URL":           {args: []string{"--public-url", "parley.example"}, want: `--public-url: "parley.example" is not an absolute http or https URL`},
		"missing file":         {args: []string{"--config", "/nonexistent/parley.yaml"}, want: "there is no configuration file /nonexistent/parley.yaml"},
		"chunks too small":     {file: "ingest: {chunk_size: 50}", want: "parley.yaml:1: must be between 200 and 8000 characters"},
		"too much overlap":     {args: []string{"--ingest-chunk-size", "400", "--ingest-chunk-overlap", "300"}, want: "--ingest-chunk-overlap: must be between 0 and half of ingest.chunk_size (200 characters)"},
		"unknown flag":         {args: []string{"--frobnicate"}, want: "unknown flag --frobnicate"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.file != "" {
				args = append(args, "--config", writeFile(t, c.file))
			}
			code, out, stderr := effective(t, c.env, args...)
			if code != exitUsage || out != "" {
				t.Errorf("exit %d with output %q, want %d and none", code, out, exitUsage)
			}
			if !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("message %q, want one line that contains %q", stderr, c.want)
			}
		})
	}
}

func FuzzReadConfigFile(f *testing.F) {
	f.Add("addr: ':1'\nlimits: {max_body: 1MiB}\n")
	f.Add("a: &a [*a]\n")
	f.Add("? [x]\n: y\n---\n")
	f.Add("<<: {addr: x}\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := readConfigFile(strings.NewReader(text))
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, f := range fields() {
			known[f.Key] = true
		}
		for key := range values {
			if !known[key] {
				t.Errorf("key %q was accepted, which is no setting", key)
			}
		}
	})
}
