package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const (
	syncFiles   = 100_000
	syncObjects = 10_000
	syncRounds  = 3
)

// sync measures how long it takes to find that nothing has changed in a folder of many small files, and in a bucket of many
// objects, after a first ingestion of each.
func (b *bench) sync(ctx context.Context) error {
	folder := filepath.Join(b.work, "many")
	for i := range syncFiles {
		path := filepath.Join(folder, fmt.Sprintf("%03d/note-%06d.txt", i/1000, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make a folder of files: %w", err)
		}
		if err := os.WriteFile(path, []byte(syncText(i)), 0o600); err != nil {
			return fmt.Errorf("make a folder of files: %w", err)
		}
	}
	if err := b.syncAgain(ctx, fmt.Sprintf("a sync of %d unchanged files", syncFiles), "≤ 20 s", folder); err != nil {
		return err
	}
	backend := s3mem.New()
	if err := backend.CreateBucket("many"); err != nil {
		return fmt.Errorf("make a bucket: %w", err)
	}
	for i := range syncObjects {
		text := syncText(i)
		if _, err := backend.PutObject("many", fmt.Sprintf("%02d/note-%05d.txt", i/1000, i), map[string]string{}, strings.NewReader(text), int64(len(text)), nil); err != nil {
			return fmt.Errorf("make a bucket: %w", err)
		}
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	return b.syncAgain(ctx, fmt.Sprintf("a sync of %d unchanged objects of S3", syncObjects), "≤ 30 s", "s3://many",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_ENDPOINT_URL_S3="+server.URL)
}

func syncText(i int) string {
	return fmt.Sprintf("Note %d about topic %d. The plan of room %d costs %d euros.\n", i, i%977, i%31, i%89)
}

// syncAgain ingests a source, and measures ingestions that find it unchanged.
func (b *bench) syncAgain(ctx context.Context, name, goal, source string, env ...string) error {
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp(b.work, "sync")
	if err != nil {
		return fmt.Errorf("make a data folder: %w", err)
	}
	var rounds []cost
	for range syncRounds + 1 {
		cmd := exec.CommandContext(ctx, program, "ingest", "--data", data, source)
		cmd.Env = append(os.Environ(), env...)
		took, err := consume(cmd)
		if err != nil {
			return err
		}
		rounds = append(rounds, took)
	}
	again := medianCost(rounds[1:])
	b.add(name, goal, "%.1f s, %.1f s of CPU (the first time %.0f s)", again.wall.Seconds(), again.cpu.Seconds(), rounds[0].wall.Seconds())
	return nil
}
