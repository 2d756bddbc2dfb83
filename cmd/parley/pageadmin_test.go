package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPage_AdministersForAdministratorsOnly(t *testing.T) {
	pageTest(t)
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(filepath.Join(docs, "skagen.md"), []byte("# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}
	for _, role := range []string{"administrator", "reader"} {
		var out, complaints bytes.Buffer
		if code := run(t.Context(), []string{"keys", "create", "--data", data, "--role", role}, &out, &complaints, environment(nil)); code != 0 {
			t.Fatal(complaints.String())
		}
		keys[strings.Replace(role, "administrator", "admin", 1)] = strings.TrimSpace(out.String())
	}
	p := serveIngested(t, nil, "--data", data, "--budgets-user-requests", "8", docs)
	var got struct {
		Findings, Usage, People    []string
		Budgets, Health, Feedback  []string
		Limits                     []string
		Ways                       []string
		Arabic                     []any
		Chart, Deletable           int
		Exported                   string
		Refused, Key, Made, Denied string
		Audit, Shortcuts, Places   int
		Seen                       seenOnPage
	}
	onPage(t, "admin", p.addr, keys, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	if !slices.Equal(got.Usage, []string{"builtin:extractive", "1"}) {
		t.Errorf("usage by model: %q", got.Usage)
	}
	whole := func(rows []string, row string) bool {
		return slices.ContainsFunc(rows, func(r string) bool { return strings.Contains(r, row) })
	}
	if !whole(got.Budgets, "Each person 8 No limit No limit") || !whole(got.Budgets, "Main collection") || !whole(got.Budgets, "13%") {
		t.Errorf("budgets: %q", got.Budgets)
	}
	if want := []string{"Each person 50 No limit No limit", "Each collection No limit No limit $2.50"}; !slices.Equal(got.Limits, want) {
		t.Errorf("changed limits: %q, want %q", got.Limits, want)
	}
	if !whole(got.Health, "Databases OK both are intact") || !whole(got.Health, "Public address Not checked") || len(got.Health) < 12 {
		t.Errorf("health: %q", got.Health)
	}
	if len(got.Feedback) != 2 || !strings.Contains(got.Feedback[0], "The wrong page.") || !strings.Contains(got.Feedback[0], "private") ||
		!strings.Contains(got.Feedback[1], "<img src=x") || len(got.Ways) != 1 || !strings.HasPrefix(got.Ways[0], "#/chat/") {
		t.Errorf("feedback: %q, with ways %q", got.Feedback, got.Ways)
	}
	if want := []any{"rtl", false, "مجلد البيانات"}; !slices.Equal(got.Arabic, want) {
		t.Errorf("in Arabic: %v, want %v", got.Arabic, want)
	}
	if got.Chart != 30 || len(got.People) != 1 || !strings.HasPrefix(got.People[0], "key:") || got.Exported != "application/zip" || got.Deletable != 1 {
		t.Errorf("a chart of %d days; people %q, exported as %q, %d of 2 can be deleted", got.Chart, got.People, got.Exported, got.Deletable)
	}
	if !strings.Contains(got.Refused, "in the past") || !strings.HasPrefix(got.Key, "parley_") {
		t.Errorf("a key that expires in 2001: %q; another: %q", got.Refused, got.Key)
	}
	if strings.Contains(got.Made, got.Key) || !strings.Contains(got.Made, "<img src=x") || !strings.Contains(got.Made, "Main collection · hr") {
		t.Errorf("the new key is listed as %q", got.Made)
	}
	if got.Audit < 2 || got.Shortcuts < 5 {
		t.Errorf("%d audit entries, %d shortcuts", got.Audit, got.Shortcuts)
	}
	if got.Places != 0 || !strings.Contains(got.Denied, "Only administrators") {
		t.Errorf("a reader sees %d ways there, and %q", got.Places, got.Denied)
	}
}
