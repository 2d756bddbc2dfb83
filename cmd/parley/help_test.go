package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The tags "settings" of commands name settings that exist, and the help of a command shows those only.
func TestHelp_ShowsTheSettingsOfTheCommand(t *testing.T) {
	line := reflect.TypeFor[commandLine]()
	for i := range line.NumField() {
		shown, ok := line.Field(i).Tag.Lookup("settings")
		if !ok || shown == "" {
			continue
		}
		for name := range strings.SplitSeq(shown, ",") {
			if !slices.ContainsFunc(fields(), func(f field) bool { return f.Name == name }) {
				t.Errorf("the command %s names the setting %q, which does not exist", line.Field(i).Name, name)
			}
		}
	}
	for _, c := range []struct {
		args      []string
		has, lack string
	}{
		{nil, "Commands:", "--data"},
		{[]string{"read"}, "--extract-timeout", "--addr"},
		{[]string{"keys", "create"}, "--namespace", "--model"}, // of its parent
		{[]string{"jobs", "list"}, "--data", "--namespace"},    // the usual ones
		{[]string{"config"}, "--crawl-delay", "--password"},
	} {
		out := parley(t, append(c.args, "--help")...)
		if !strings.Contains(out, c.has) || strings.Contains(out, c.lack) {
			t.Errorf("parley %s --help lacks %q or has %q:\n%s", strings.Join(c.args, " "), c.has, c.lack, out)
		}
	}
}
