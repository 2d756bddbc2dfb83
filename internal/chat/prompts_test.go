package chat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/chat/prompt"
	"parley/internal/llm/llmtest"
)

// promptFolder writes files below a new folder.
func promptFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadPrompts_LaysAFolderOverTheBuiltInOnes(t *testing.T) {
	dir := promptFolder(t, map[string]string{
		"default/followups.txt": "Suggest {{.Questions}}.\n",
		"legal/answer.txt":      "You are a lawyer's help.\n",
		"legal/.answer.txt.swp": "\xff",
		".git/config":           "x",
	})
	p, err := prompt.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default", "legal"}, p.Domains()); diff != "" {
		t.Error(diff)
	}
	e := newEngine(llmtest.Says("x"), passages(), func(c *chat.Config) { c.Prompts = p })
	req := ask(e, "q", followUps)
	req.Options.PromptDomain = "legal"
	if got := collect(t, e, req).Prompt.Messages[0].Text(); got != "You are a lawyer's help.\n\nSuggest 3." {
		t.Errorf("legal = %q", got)
	}
	req.Options.PromptDomain = ""
	if got := collect(t, e, req).Prompt.Messages[0].Text(); !strings.HasPrefix(got, "You answer questions") || !strings.HasSuffix(got, "Suggest 3.") {
		t.Errorf("default = %q", got)
	}
	origins := map[string]string{}
	for _, text := range p.List() {
		origins[text.Domain+"/"+text.Name] = text.Origin
	}
	if len(origins) != 16 || origins["default/answer"] != "built in" || origins["legal/answer"] != filepath.Join(dir, "legal", "answer.txt") ||
		origins["legal/followups"] != filepath.Join(dir, "default", "followups.txt") {
		t.Errorf("origins = %v", origins)
	}
}

func TestLoadPrompts_RefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       string // after the file's path
	}{
		"syntax":        {"default/answer.txt", "one\n{{if}}", ":2: missing value for if"},
		"unknown field": {"default/answer.txt", "one\ntwo {{.Question}}", ":2:6: executing"},
		"endless":       {"default/answer.txt", `{{define "a"}}x{{template "a"}}{{end}}{{template "a"}}`, ": its output is longer than"},
		"huge":          {"default/answer.txt", "{{range 100000}}long text{{end}}", ": its output is longer than"},
		"empty":         {"default/answer.txt", " \n", ": is empty"},
		"not text":      {"default/answer.txt", "\xff", ": is not valid UTF-8"},
		"too long":      {"default/answer.txt", strings.Repeat("x", 65<<10), ": is longer than 65536 bytes"},
		"unknown name":  {"default/anwser.txt", "x", ": there is no such prompt; there are answer.txt, followups.txt, missing.txt, rewrite.txt, clarify.txt, summary.txt, rerank.txt, judge.txt"},
		"other ending":  {"default/answer", "x", ": there is no such prompt"},
		"folder":        {"default/answer.txt/x", "x", ": is not a file"},
		"no domain":     {"answer.txt", "x", ": put prompts in folders"},
		"bad domain":    {"Legal Docs/answer.txt", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := promptFolder(t, map[string]string{c.file: c.text})
			_, err := prompt.Load(dir)
			if err == nil || !strings.HasPrefix(err.Error(), dir) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
			if c.want != "" && !strings.Contains(name, "folder") && err != nil && !strings.HasPrefix(err.Error(), filepath.Join(dir, filepath.FromSlash(c.file))+c.want[:1]) {
				t.Errorf("the error does not begin with the file: %v", err)
			}
		})
	}
	if _, err := prompt.Load(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a folder that is missing was taken")
	}
}

func TestRun_RejectsAPromptDomainThatThereIsNot(t *testing.T) {
	p, err := prompt.Load(promptFolder(t, map[string]string{"legal/answer.txt": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(llmtest.Says("x"), passages(), func(c *chat.Config) { c.Prompts = p })
	for _, domain := range []string{"Legal", "../legal", "legal/../legal", "legal/", ".", "other"} {
		req := ask(e, "q")
		req.Options.PromptDomain = domain
		events, err := run(t.Context(), e, req)
		if chat.KindOf(err) != chat.Invalid || len(events) > 0 || !strings.Contains(err.Error(), "default, legal") {
			t.Errorf("%q: %d events, error %v", domain, len(events), err)
		}
	}
}
