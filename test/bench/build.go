package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// moduleRoot returns the folder of the module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the module: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", fmt.Errorf("run it in the repository of Parley")
	}
	return filepath.Dir(mod), nil
}

// build returns the path of the program, built as `make build` does.
func (b *bench) build(ctx context.Context) (string, error) {
	if b.program != "" {
		return b.program, nil
	}
	path := filepath.Join(b.work, "parley")
	if err := runGo(ctx, b.root, "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/parley"); err != nil {
		return "", err
	}
	b.program = path
	return path, nil
}

// tool builds a measuring tool from its source in the folder shared, and returns its path.
func (b *bench) tool(ctx context.Context, name string) (string, error) {
	source, err := b.sharedPath("tools", name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.work, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, runGo(ctx, source, "build", "-o", path, ".")
}

// runGo runs the go command in a folder, without cgo. Its error contains the command's output.
func runGo(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	return nil
}
