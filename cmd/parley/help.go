package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// usualSettings are the settings in the help of a command without a tag "settings" of its own.
const usualSettings = "data,database"

// briefHelp prints the help of a command: its flags, and the settings that its tag "settings" names, in that order.
// `parley config --help` lists all settings by purpose.
func briefHelp(options kong.HelpOptions, kctx *kong.Context) error {
	command := kctx.Selected()
	if command != nil && command.Name == "config" {
		groupByPurpose(kctx.Model.Flags)
		return kong.DefaultHelpPrinter(options, kctx)
	}
	shown := settingsOf(command)
	group := &kong.Group{Key: "settings", Title: "Settings:"}
	for _, flag := range kctx.Model.Flags {
		if slices.ContainsFunc(fields(), func(f field) bool { return f.Name == flag.Name }) {
			flag.Group = group
			flag.Hidden = !slices.Contains(shown, flag.Name) // the process exits after the help
		}
	}
	if err := kong.DefaultHelpPrinter(options, kctx); err != nil {
		return err
	}
	_, err := fmt.Fprintln(kctx.Stdout, "\nparley config --help lists all settings.")
	return err
}

// settingsOf returns the names of the settings that the help of a command shows: none without a command.
func settingsOf(command *kong.Node) []string {
	if command == nil {
		return nil
	}
	for node := command; node != nil && node.Tag != nil; node = node.Parent {
		if node.Tag.Has("settings") {
			return strings.Split(node.Tag.Get("settings"), ",")
		}
	}
	return strings.Split(usualSettings, ",")
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
