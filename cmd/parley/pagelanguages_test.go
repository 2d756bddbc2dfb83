package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPage_SpeaksTheLanguageOfTheBrowser(t *testing.T) {
	pageTest(t)
	docs := t.TempDir()
	text := "# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n\n| Name | Height |\n|--|--|\n| Skagen | 46 |\n"
	if err := os.WriteFile(filepath.Join(docs, "skagen.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIngested(t, nil, docs)
	type seen struct {
		Lang, Dir      string
		Loaded, Errors []string
	}
	var got struct {
		Findings []string
		Seen     map[string]seen
		Chosen   []string
	}
	options := map[string]any{"question": "How tall is the lighthouse of Skagen?"}
	if dir := os.Getenv("PARLEY_UI_SHOTS"); dir != "" {
		options["shots"] = dir
		options["widths"] = []int{390, 1280, 1920}
	}
	onPage(t, "languages", p.addr, options, &got)
	for _, finding := range got.Findings {
		t.Errorf("no room: %s", finding)
	}
	if languages := slices.Sorted(maps.Keys(got.Seen)); !slices.Equal(languages, []string{"ar", "de", "en", "es", "fr", "zh"}) {
		t.Fatalf("the page was seen in %q", languages)
	}
	for language, s := range got.Seen {
		dir := "ltr"
		if language == "ar" {
			dir = "rtl"
		}
		if s.Lang != language || s.Dir != dir || !slices.Equal(s.Loaded, []string{language}) || len(s.Errors) > 0 {
			t.Errorf("in %s: %+v", language, s)
		}
	}
	if want := []string{"Settings", "Einstellungen", "الإعدادات", "Settings"}; !slices.Equal(got.Chosen, want) {
		t.Errorf("the settings in the languages that were chosen: %q", got.Chosen)
	}
}
