package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	var cfg Config
	parser := kong.Must(&cfg, kong.PostBuild(forgetEnv))
	if _, err := parser.Parse(nil); err != nil {
		panic(fmt.Sprintf("a default in the tags of Config is wrong: %v", err))
	}
	cfg.Embedding = "" // what tests are about must not depend on when vectors are complete
	return cfg
}
