package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/store"
	"parley/internal/store/backup"
)

// backupCmd writes the data folder to a file.
type backupCmd struct {
	File string `arg:"" name:"file" help:"File to write, such as parley-2026-11-23.tar.zst; - is standard output. An earlier backup of that name is replaced."`
}

// Run works beside a running server. It exits with 3 if originals of documents are missing or
// damaged; the backup then lacks only those.
func (c backupCmd) Run(ctx context.Context, p *program) error {
	if p.config.Database != "" {
		return usagef("parley backup is for data folders: back up a PostgreSQL database with pg_dump, which includes the uploaded files")
	}
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	db, err := store.Open(ctx, p.config.Data, p.log)
	if err != nil {
		return err
	}
	defer db.Close()
	about := backup.About{Version: release, Created: time.Now().UTC(), Data: p.config.Data, Settings: p.setSettings()}
	if dir, err := filepath.Abs(p.config.Data); err == nil {
		about.Data = dir
	}
	d := newDisplay(p.stderr, time.Now)
	var report backup.Report
	if c.File == "-" {
		report, err = backup.Write(ctx, p.stdout, p.config.Data, db, about, d.Copied("backing up"))
	} else {
		report, err = backup.Create(ctx, c.File, p.config.Data, db, about, d.Copied("backing up"))
	}
	d.Finish()
	if err != nil {
		return err
	}
	out := p.stdout
	if c.File == "-" {
		out = p.stderr
	}
	fmt.Fprintf(out, "Backed up %s: the databases, %s and %s to %s\n", mebibytes(report.Bytes),
		plural(report.Originals, "original"), plural(report.Uploads, "uploaded file"), c.target())
	if len(report.Lost) == 0 {
		return nil
	}
	for _, sha := range report.Lost {
		fmt.Fprintf(p.stderr, "parley: the original %s is missing or damaged, and the backup lacks it\n", sha)
	}
	return errPartial
}

func (c backupCmd) target() string {
	if c.File == "-" {
		return "standard output"
	}
	return c.File
}

// setSettings returns the settings that are not defaults, without secrets. Mappings may hold
// secrets.
func (p *program) setSettings() map[string]string {
	set := map[string]string{}
	for _, f := range fields() {
		if p.origin[f.Name] == "" || f.Key == "data" {
			continue
		}
		value := valueNode(f, reflect.ValueOf(p.config).Field(f.index)).Value
		if list, ok := reflect.ValueOf(p.config).Field(f.index).Interface().([]string); ok {
			value = fmt.Sprint(list)
		}
		if f.Mapping {
			value = "(set)"
		}
		set[f.Key] = value
	}
	return set
}

// restoreCmd puts a backup into the data folder.
type restoreCmd struct {
	File    string `arg:"" optional:"" name:"file" help:"A backup. Without it, an interrupted restore is finished."`
	Replace bool   `help:"Delete what the data folder holds. Without this flag, only an empty folder is restored into."`
	Check   bool   `help:"Verify the checksum of the backup, and restore nothing."`
}

// Run replaces nothing before the whole backup is unpacked and verified.
func (c restoreCmd) Run(ctx context.Context, p *program) error {
	if c.File == "" {
		return c.finish(p)
	}
	d := newDisplay(p.stderr, time.Now)
	defer d.Finish()
	about, err := backup.Check(ctx, c.File, d.Copied("verifying"))
	if err != nil {
		return err
	}
	if c.Check {
		d.Finish()
		fmt.Fprintf(p.stdout, "%s is whole: %s\n", c.File, describeBackup(about))
		return nil
	}
	if p.config.Database != "" {
		return usagef("parley restore is for data folders: restore a PostgreSQL database with pg_restore; to move a backup into one, restore it into a folder without --database, and then run parley migrate")
	}
	if !c.Replace {
		if name := holdsSomething(p.config.Data); name != "" {
			return usagef("the data folder %s is not empty (it holds %s): choose another one with --data, or delete what it holds with --replace", p.config.Data, name)
		}
	}
	dir, unlock, err := p.lockRestoring()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := backup.Finish(dir); err != nil {
		return err
	}
	if err := backup.Restore(ctx, c.File, dir, p.log, d.Copied("unpacking")); err != nil {
		return err
	}
	d.Finish()
	fmt.Fprintf(p.stdout, "Restored %s into %s\n", describeBackup(about), p.config.Data)
	writeSettings(p.stdout, about.Settings)
	return nil
}

// finish completes an interrupted restore.
func (restoreCmd) finish(p *program) error {
	if !exists(p.config.Data) {
		return usagef("name a backup")
	}
	dir, unlock, err := p.lockRestoring()
	if err != nil {
		return err
	}
	defer unlock()
	switch was, err := backup.Finish(dir); {
	case err != nil:
		return err
	case !was:
		return usagef("name a backup: no restore into %s was interrupted", p.config.Data)
	}
	fmt.Fprintf(p.stdout, "Finished the interrupted restore into %s\n", p.config.Data)
	return nil
}

// lockRestoring makes this process the only one that uses the data folder, which it creates.
func (p *program) lockRestoring() (dir string, unlock func(), err error) {
	if dir, err = store.PrepareFolder(p.config.Data); err != nil {
		return "", nil, err
	}
	unlock, err = ingest.Locks{Dir: dir}.All()
	if locked, taken := errors.AsType[*ingest.LockedError](err); taken {
		return "", nil, usagef("%s is %s the data folder %s: stop it first, or choose another folder with --data", locked.Who(), locked.Doing, dir)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		p.log.Warn("the file system of the data folder has no locks: make sure that no server uses it", "data", dir)
		return dir, func() {}, nil
	}
	return dir, unlock, err
}

// leftBehind are the files of a data folder that hold nothing.
var leftBehind = []string{"serve.lock", "ingest.lock", "sites.lock", "sources.lock", "embed.lock", "jobs.lock", "cache", "restore-unfinished", "restore-replaced", "lost+found"}

// holdsSomething returns the name of a file that a restore into a folder would replace or join, "" if
// there is none.
func holdsSomething(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "" // PrepareFolder says why
	}
	for _, e := range entries {
		if !slices.Contains(leftBehind, e.Name()) {
			return e.Name()
		}
	}
	return ""
}

func describeBackup(about backup.About) string {
	return fmt.Sprintf("the backup of %s that Parley %s made of %s", about.Created.Format("2006-01-02 15:04:05 MST"), about.Version, about.Data)
}

// writeSettings prints the settings that were in effect when the backup was made.
func writeSettings(w io.Writer, settings map[string]string) {
	if len(settings) == 0 {
		return
	}
	fmt.Fprintln(w, "A backup does not restore settings. It was made with these:")
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(w, "  %s: %s\n", key, cmp.Or(settings[key], `""`))
	}
}

// mebibytes returns a number of bytes for people.
func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Copied returns a function that shows the progress of a copy.
func (d *display) Copied(doing string) backup.Progress {
	return func(done, total int64) {
		d.show(func() moment {
			const unit = 1 << 10 // so that the number fits an int everywhere
			return moment{doing, int(done / unit), int(total / unit), fmt.Sprintf("%s of %s", mebibytes(done), mebibytes(total))}
		})
	}
}
