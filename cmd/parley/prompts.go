package main

import (
	"fmt"
	"strings"

	"parley/internal/chat/prompt"
)

// promptsCmd lists and prints the prompts.
type promptsCmd struct {
	Name string `arg:"" optional:"" name:"prompt" help:"Prompt to print, as DOMAIN/NAME; by default all are listed."`
}

// Help returns text that kong cannot derive.
func (promptsCmd) Help() string {
	return "A prompt that is printed into a file of the same name, such as parley prompts default/answer > " +
		"my-prompts/default/answer.txt, is one to change; --prompts my-prompts puts it in effect."
}

// Run lists the prompts with where each comes from, or prints one.
func (c promptsCmd) Run(p *program) error {
	prompts, err := readPrompts(p.config)
	if err != nil {
		return err
	}
	all := prompts.List()
	if c.Name == "" {
		for _, t := range all {
			if _, err := fmt.Fprintf(p.stdout, "%s/%s (%s)\n", t.Domain, t.Name, t.Origin); err != nil {
				return fmt.Errorf("print the prompts: %w", err)
			}
		}
		return nil
	}
	for _, t := range all {
		if t.Domain+"/"+t.Name == strings.TrimSuffix(c.Name, ".txt") {
			_, err := fmt.Fprintln(p.stdout, strings.TrimRight(t.Source, "\n"))
			return err
		}
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Domain+"/"+t.Name)
	}
	return usagef("there is no prompt %q; there are %s", c.Name, strings.Join(names, ", "))
}

// readPrompts returns the built-in prompts, overridden by the operator's folder.
func readPrompts(cfg Config) (*prompt.Set, error) {
	prompts, err := prompt.Load(cfg.Prompts)
	if err != nil {
		return nil, usageError{err}
	}
	return prompts, nil
}
