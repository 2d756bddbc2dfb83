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
