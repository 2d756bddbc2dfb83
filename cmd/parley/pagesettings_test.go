package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/ragchat"
)

// The page only names its settings; their types, ranges and defaults come from the server.
func TestWebPage_ShowsOnlySettingsThatTheServerDescribes(t *testing.T) {
	source, err := os.ReadFile("../../web/src/settings.ts")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string][]wire.Setting{"azure": azurechat.Settings(chat.DefaultOptions()), "ragchat": ragchat.Settings(ragchat.DefaultDefaults())}
	rows := regexp.MustCompile(`(?m)^  \{ key: "(\w+)", (.*) \},$`).FindAllSubmatch(source, -1)
	if len(rows) < 30 {
		t.Fatalf("%d settings were found", len(rows))
	}
	for _, row := range rows {
		known := false
		for _, name := range regexp.MustCompile(`(both\(|azure: |ragchat: )"(\w+)"`).FindAllSubmatch(row[2], -1) {
			for _, list := range described {
				known = known || slices.ContainsFunc(list, func(s wire.Setting) bool { return s.Name == string(name[2]) })
			}
		}
		if !known {
			t.Errorf("the server does not describe %s, so the page cannot show it", row[1])
		}
	}
}

// The page has a manifest, and no service worker that could show an old page after an upgrade.
func TestPage_CanBeInstalled(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil)
	var got struct {
		Errors, Sizes []string
		Icons         []struct{ Src, Sizes, Purpose string }
		Workers       int
		Seen          seenOnPage
	}
	onPage(t, "installable", p.addr, nil, &got)
	got.Seen.check(t)
	// The browser of the test keeps nothing, and such browsers install nothing.
	got.Errors = slices.DeleteFunc(got.Errors, func(id string) bool { return id == "in-incognito" })
	if len(got.Errors) > 0 || got.Workers > 0 {
		t.Errorf("Chromium says %q, and there are %d service workers", got.Errors, got.Workers)
	}
	if want := []string{"192x192", "512x512", "512x512"}; !slices.Equal(got.Sizes, want) || len(got.Icons) != 4 {
		t.Errorf("the icons %+v are %q", got.Icons, got.Sizes)
	}
}
