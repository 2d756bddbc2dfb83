package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"parley/internal/extract/sandbox"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// checkDataFolder checks that files can be written in the data folder and that others cannot read
// it.
func checkDataFolder(_ context.Context, p *program) []finding {
	dir := p.config.Data
	st, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(filepath.Clean(dir))
		if err := writableFolder(parent); err != nil {
			return found(broken, "create it, or choose another folder with --data", "%s does not exist, and this user cannot create it: %v", dir, err)
		}
		return found(fine, "", "%s does not exist yet, and will be created", dir)
	}
	if err != nil {
		return found(broken, "change its permissions, or choose another folder with --data", "%v", err)
	}
	if !st.IsDir() {
		return found(broken, "choose a folder with --data", "%s is a file", dir)
	}
	if err := writableFolder(dir); err != nil {
		return found(broken, "change its permissions, or choose another folder with --data", "this user cannot write in %s: %v", dir, err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		return found(warned, "chmod 700 "+dir, "other users of this machine may look into %s (mode %v)", dir, st.Mode().Perm())
	}
	return found(fine, "", "%s can be written", dir)
}

func writableFolder(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Free space in bytes below which doctor complains.
const (
	scarceSpace = 1 << 30
	noSpace     = 64 << 20
)

// checkDisk checks the free space of the disk that holds the data folder.
func checkDisk(_ context.Context, p *program) []finding {
	free, ok := freeSpace(existingFolder(p.config.Data))
	switch {
	case !ok:
		return found(skipped, "", "the free space is not known on this system")
	case free < noSpace:
		return found(broken, "make room on the disk that holds the data folder", "only %s are free", mebibytes(free))
	case free < scarceSpace:
		return found(warned, "make room on the disk that holds the data folder", "only %s are free", mebibytes(free))
	}
	return found(fine, "", "%.1f GiB are free", float64(free)/(1<<30))
}

// existingFolder returns the closest folder at or above a path that exists.
func existingFolder(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "."
	}
	for !exists(abs) && abs != filepath.Dir(abs) {
		abs = filepath.Dir(abs)
	}
	return abs
}

// openStored opens the data folder or database unless nothing is stored. A server's is open already. The caller calls done
// unless it gets findings.
func openStored(ctx context.Context, p *program) (db *store.DB, done func(), failed []finding) {
	if p.stored != nil {
		return p.stored, func() {}, nil
	}
	if p.config.Database == "" && !exists(filepath.Join(p.config.Data, "corpus.db")) && !exists(filepath.Join(p.config.Data, store.RestoreReady)) {
		return nil, nil, found(skipped, "", "nothing is stored yet")
	}
	cfg := p.config
	if cfg.Database != "" && !exists(cfg.Data) { // do not create it
		dir, err := os.MkdirTemp("", "parley-doctor-")
		if err != nil {
			return nil, nil, found(broken, "", "make a temporary folder: %v", err)
		}
		defer os.RemoveAll(dir)
		cfg.Data = dir
	}
	db, err := p.openStore(ctx, cfg)
	if err != nil {
		return nil, nil, found(broken, "", "%v", err)
	}
	return db, func() { _ = db.Close() }, nil // it was only read
}

// checkDatabases examines the structure and the checksums of both databases, or how a PostgreSQL server
// is set up.
func checkDatabases(ctx context.Context, p *program) []finding {
	db, done, failed := openStored(ctx, p)
	if failed != nil {
		return failed
	}
	defer done()
	if err := db.Verify(ctx); ctx.Err() != nil {
		return found(skipped, "parley doctor on the server's machine takes the time that it needs", "they are too large to be read in time")
	} else if err != nil {
		return found(broken, "", "%v", err) // it says what to do
	}
	stats, err := db.Corpus().Stats(ctx, p.config.Namespace)
	if err != nil {
		return found(broken, "", "%v", err)
	}
	whole := "both are intact"
	if p.config.Database != "" {
		s, err := db.Server(ctx)
		if err != nil {
			return found(broken, "", "%v", err)
		}
		if unsafe := checkServer(s); unsafe != nil {
			return unsafe
		}
		servers, err := db.Peers().Servers(ctx)
		if err != nil {
			return found(broken, "", "%v", err)
		}
		if mixed := checkServers(servers); mixed != nil {
			return mixed
		}
		whole = fmt.Sprintf("PostgreSQL %s answers in %v and keeps what it acknowledges; back it up with pg_dump; %s on it",
			s.Version, s.RoundTrip.Round(10*time.Microsecond), plural(len(servers), "server"))
	}
	return found(fine, "", "%s; the namespace %s has %s", whole, p.config.Namespace, plural(stats.Documents, "document"))
}

// checkServers returns what is wrong with the servers on a database, nil if nothing is.
func checkServers(servers []store.ServerInfo) []finding {
	versions := map[string][]string{} // hosts
	for _, s := range servers {
		versions[s.Version] = append(versions[s.Version], s.Host)
	}
	if len(versions) < 2 {
		return nil
	}
	var all []string
	for _, v := range slices.Sorted(maps.Keys(versions)) {
		all = append(all, fmt.Sprintf("%s on %s", v, strings.Join(versions[v], ", ")))
	}
	return found(warned, "update the older ones; until then they may fail", "servers of different versions use the database: %s", strings.Join(all, "; "))
}

// slowDatabase is the time from which a round trip to the database is worth a warning: a turn takes some
// ten of them.
const slowDatabase = 20 * time.Millisecond

// checkServer returns what is wrong with the setup of a PostgreSQL server, nil if nothing is.
func checkServer(s store.Server) (all []finding) {
	add := func(remedy, format string, args ...any) { all = append(all, found(warned, remedy, format, args...)...) }
	if !s.Durable {
		add("set fsync and full_page_writes to on, and synchronous_commit to on or remote_apply", "the PostgreSQL server may lose what it has acknowledged: fsync, full_page_writes or synchronous_commit is off")
	}
	if s.RoundTrip > slowDatabase {
		add("run Parley near the database", "a round trip to the PostgreSQL server takes %v, and a turn needs several", s.RoundTrip.Round(time.Millisecond))
	}
	if s.Limits != "" {
		add("set them to 0 for Parley's user (ALTER ROLE … SET … = 0)", "the PostgreSQL server sets time limits, which cut long reads, and sessions that hold locks: %s", s.Limits)
	}
	if s.Connections < s.Needed {
		add("raise max_connections of the PostgreSQL server or the CONNECTION LIMIT of the role or the database, or lower pool_max_conns in --database", "%d connections are left on the PostgreSQL server, and a Parley needs up to %d", s.Connections, s.Needed)
	}
	return all
}

// checkVectors compares the configured embedding model with the one that made the stored vectors.
func checkVectors(ctx context.Context, p *program) []finding {
	db, done, failed := openStored(ctx, p)
	if failed != nil {
		return found(skipped, "", "no vectors are stored")
	}
	defer done()
	all, _, err := db.Corpus().Generations(ctx)
	if err != nil {
		return found(broken, "", "%v", err)
	}
	at := slices.IndexFunc(all, func(g retrieval.Generation) bool { return g.State == retrieval.Current })
	switch {
	case at < 0 && p.config.Embedding == "":
		return found(skipped, "", "no vectors are stored, and no embedding model is configured")
	case at < 0:
		advice := "let a server run until the documents are embedded"
		if p.serversEmbed {
			advice += fmt.Sprintf("; for more than %d passages, set embedding to %s", maxByDefault, p.config.Embedding)
		}
		return found(warned, advice, "no vectors of %s are stored yet: questions are answered by words alone", p.config.Embedding)
	case p.config.Embedding == "":
		return found(warned, "set embedding to "+all[at].Model+" to use them", "vectors of %s are stored, but no embedding model is configured: they are not used", all[at].Model)
	case all[at].Model != p.config.Embedding || all[at].Dimensions != p.config.EmbeddingDimensions:
		return found(warned, "set embedding back, or let a server embed all documents again, which may cost money",
			"the stored vectors are of %s, and the configured model is %s", withDimensions(all[at].Model, all[at].Dimensions), withDimensions(p.config.Embedding, p.config.EmbeddingDimensions))
	}
	return found(fine, "", "the stored vectors are of %s", p.config.Embedding)
}

func withDimensions(model string, n int) string {
	if n == 0 {
		return model
	}
	return fmt.Sprintf("%s with %d dimensions", model, n)
}

// checkOpenFiles checks that the limit on open files admits enough connections.
func checkOpenFiles(_ context.Context, p *program) []finding {
	files := openFiles()
	n, scarce := p.config.connections(files)
	if scarce {
		return found(warned, "raise the limit (ulimit -n, or LimitNOFILE of systemd)", "%d files may be open, so only %d connections are accepted", files, n)
	}
	return found(fine, "", "up to %d connections are accepted", n)
}

// checkMemory checks that the processes that read files fit into the memory limit of a container.
func checkMemory(_ context.Context, p *program) []finding {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return found(skipped, "", "the system has no control groups")
	}
	limit := groupLimit("/sys/fs/cgroup", string(groups))
	if limit == 0 {
		return found(fine, "", "no control group limits it")
	}
	const server = 256 << 20 // bytes beside the processes that read files
	workers := cmp.Or(p.config.ExtractWorkers, min(4, runtime.GOMAXPROCS(0)))
	if int64(p.config.ExtractMemory)*int64(workers)+server > limit {
		return found(warned, "raise the limit, or lower extract.workers or extract.memory",
			"the limit is %s, and reading files may take %d times %v", mebibytes(limit), workers, p.config.ExtractMemory)
	}
	return found(fine, "", "the limit is %s", mebibytes(limit))
}

// checkIsolation says whether the processes that read files are kept from other files.
func checkIsolation(context.Context, *program) []finding {
	how, ok := sandbox.Confinement()
	if !ok {
		return found(warned, "use Linux 5.13 or later with Landlock for documents of people whom you do not trust",
			"the processes that read files can reach other files: %s", how)
	}
	return found(fine, "", "the processes that read files are sandboxed: %s", how)
}

// checkRecognition says what recognises the text on scanned pages.
func checkRecognition(ctx context.Context, p *program) []finding {
	about := p.config.recognition()
	if about == nil {
		return found(skipped, "", "ingest.ocr is off")
	}
	if model := p.config.IngestOCRModel; model != "" {
		return found(fine, "", "%s reads scanned pages; their pictures are sent to it", model)
	}
	t, err := sandbox.FindTesseract(ctx, about.Languages, about.Data)
	if err != nil {
		return found(fine, "", "the built-in Tesseract reads scanned pages; a tesseract 5 in PATH would be almost twice as fast: %v", err)
	}
	return found(fine, "", "%s %s reads scanned pages", t.Path, t.Version)
}
