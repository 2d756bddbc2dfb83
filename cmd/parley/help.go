package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// briefSettings are the flags of settings shown in the help of every command.
var briefSettings = []string{"addr", "data", "model", "namespace", "embedding", "public-url", "log-level", "openai-api-key", "openai-base-url"}

// briefHelp prints the help of a command with the most common settings. `parley config --help`
// lists all settings by purpose.
func briefHelp(options kong.HelpOptions, kctx *kong.Context) error {
	if node := kctx.Selected(); node != nil && node.Name == "config" {
		groupByPurpose(kctx.Model.Flags)
		return kong.DefaultHelpPrinter(options, kctx)
	}
	hidden := 0
	for _, flag := range kctx.Model.Flags {
		setting := slices.ContainsFunc(fields(), func(f field) bool { return f.Name == flag.Name })
		if setting && !slices.Contains(briefSettings, flag.Name) {
			flag.Hidden = true // the process exits after the help
			hidden++
		}
	}
	if err := kong.DefaultHelpPrinter(options, kctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(kctx.Stdout, "\nThere are %d more settings: parley config --help lists them all.\n", hidden)
	return err
}

// groupByPurpose groups the flags of settings in the help under the titles of their sections.
func groupByPurpose(flags []*kong.Flag) {
	groups := map[string]*kong.Group{}
	for _, flag := range flags {
		i := slices.IndexFunc(fields(), func(f field) bool { return f.Name == flag.Name })
		if i < 0 {
			continue
		}
		title := fields()[i].Section
		if groups[title] == nil {
			groups[title] = &kong.Group{Key: title, Title: title + ":"}
		}
		flag.Group = groups[title]
	}
}

// commandOf returns the command that a command-line error belongs to.
func commandOf(err error) string {
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil {
		if node := e.Context.Selected(); node != nil {
			path := []string{node.Name}
			for node = node.Parent; node != nil; node = node.Parent {
				path = append(path, node.Name)
			}
			slices.Reverse(path)
			return strings.Join(path, " ")
		}
	}
	return "parley"
}
