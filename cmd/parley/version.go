package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// release is the latest version in CHANGELOG.md.
const release = "0.1.0-dev"

type versionCmd struct{}

func (versionCmd) Run(p *program) error {
	_, err := fmt.Fprintln(p.stdout, version())
	return err
}

// version returns the release with the commit, its date and the compiler, if the build recorded
// them.
func version() string {
	details := []string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if commit := settings["vcs.revision"]; commit != "" {
			if settings["vcs.modified"] == "true" {
				commit += " with changes"
			}
			details = append(details, "commit "+commit, settings["vcs.time"])
		}
	}
	details = append(details, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return fmt.Sprintf("parley %s (%s)", release, strings.Join(details, ", "))
}
