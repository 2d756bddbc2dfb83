// Command bench measures Parley and prints the table of figures in docs/measurements.md.
//
//	go run ./test/bench [-shared DIR] [-sessions N] [search] [vectors] [ingest] [start] [stream] [json]
//		[crowd] [turns] [sessions]
//	go run ./test/bench busy formats sync
//	go run ./test/bench fidelity [-files DIR]
//	go run ./test/bench scale -passages 200000,1000000 [-keep DIR]
//	go run ./test/bench soak -for 1h [-clients N] [-database URL]
//	go run ./test/bench replicas -database URL
//	go run ./test/bench join -database URL -passages 1000000 [-keep DIR]
//	go run ./test/bench pgvector -vectors 100000
//
// Without a section it measures those on the first two lines, which takes about eight minutes. It builds
// the program and the measuring tools in a temporary folder, uses the loopback only, and leaves nothing
// behind. Sections whose data, tools or pdftotext are missing are skipped with a message. Sizes of
// processes are read from /proc, so they need Linux.
//
// Programs that are compared run in alternating rounds, and a figure is the median of its rounds, so that
// other work on the machine disturbs both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// total is the time limit of a whole run.
const total = 90 * time.Minute

// sections are the measurements in the order of the table.
var sections = []struct {
	name    string
	measure func(*bench, context.Context) error
	named   bool // runs only if named, because it takes long
}{
	{"search", (*bench).search, false},
	{"vectors", (*bench).vectors, false},
	{"ingest", (*bench).ingest, false},
	{"start", (*bench).start, false},
	{"stream", (*bench).stream, false},
	{"json", (*bench).whole, false},
	{"crowd", (*bench).crowd, false},
	{"turns", (*bench).turns, false},
	{"sessions", (*bench).sessions, false},
	{"formats", (*bench).formats, true},
	{"busy", (*bench).busy, true},
	{"fidelity", (*bench).fidelity, true},
	{"sync", (*bench).sync, true},
	{"scale", (*bench).scale, true},
	{"soak", (*bench).soak, true},
	{"replicas", (*bench).replicas, true},
	{"join", (*bench).join, true},
	{"pgvector", (*bench).pgvector, true},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, total)
	err := run(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	shared := flag.String("shared", "", "folder with data and tools (default: shared beside the repository)")
	sizes := flag.String("passages", "100000,200000", "sizes of the generated corpora that scale measures")
	keep := flag.String("keep", "", "folder that keeps what scale generates and ingests for its next run (default: a temporary one)")
	soakTime := flag.Duration("for", 5*time.Minute, "how long soak loads the program")
	clients := flag.Int("clients", 64, "how many clients soak has")
	database := flag.String("database", "", "URL of an empty PostgreSQL database for soak (default: the data folder), replicas and join")
	vectors := flag.Int("vectors", 100_000, "how many vectors pgvector searches")
	files := flag.String("files", "", "folder whose files fidelity compares with what other programs read (default: generated files)")
	sessions := flag.Int("sessions", 10_000, "how many sessions there are to load one of")
	wanted, err := arguments()
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	if *shared == "" {
		*shared = filepath.Join(filepath.Dir(root), "shared")
	}
	work, err := os.MkdirTemp("", "parley-bench-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(work)
	b := &bench{
		root: root, shared: *shared, work: work, sizes: *sizes, keep: *keep, sessionCount: max(1, *sessions),
		files: *files, soakTime: *soakTime, soakClients: max(1, *clients), database: *database, vectorCount: *vectors,
	}
	for _, s := range sections {
		if !slices.Contains(wanted, s.name) && (len(wanted) > 0 || s.named) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", s.name)
		b.command = "go run ./test/bench " + s.name
		if b.database != "" {
			b.command += " -database URL"
		}
		err := s.measure(b, ctx)
		if missing, ok := errors.AsType[*missingError](err); ok {
			fmt.Fprintf(os.Stderr, "skipped %s: %s\n", s.name, missing)
			continue
		}
		if err != nil {
			return fmt.Errorf("measure %s: %w", s.name, err)
		}
	}
	fmt.Print(b.table())
	return nil
}

// arguments returns the names of the sections to measure. Flags may stand between and after them.
func arguments() (names []string, err error) {
	flag.Parse()
	for flag.NArg() > 0 {
		name := flag.Arg(0)
		if !isSection(name) {
			return nil, fmt.Errorf("there is nothing to measure that is called %q", name)
		}
		names = append(names, name)
		if err := flag.CommandLine.Parse(flag.Args()[1:]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func isSection(name string) bool {
	for _, s := range sections {
		if s.name == name {
			return true
		}
	}
	return false
}

// bench is one run of the program.
type bench struct {
	root   string // the repository
	shared string
	work   string // a temporary folder
	sizes  string // sizes of the corpora of scale: numbers of passages separated by commas
	keep   string // folder for generated corpora, or ""
	files  string // see fidelity; or ""

	sessionCount int           // see sessions
	soakTime     time.Duration // see soak
	soakClients  int
	database     string // URL of a PostgreSQL database, or ""
	vectorCount  int

	command string // command that repeats the current section
	figures []figure

	program string    // path of the built binary, "" until it is needed
	indexed *passages // nil until needed
}

// figure is a line of the table.
type figure struct{ name, value, goal, command string }

// add adds a figure to the table. The goal may be empty.
func (b *bench) add(name, goal, value string, args ...any) {
	f := figure{name, fmt.Sprintf(value, args...), goal, b.command}
	fmt.Fprintf(os.Stderr, "  %s: %s\n", f.name, f.value)
	b.figures = append(b.figures, f)
}

// table returns the figures in Markdown.
func (b *bench) table() string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s, %d CPUs, %s/%s\n\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	t.WriteString("| figure | value | goal | command |\n|---|---|---|---|\n")
	for _, f := range b.figures {
		fmt.Fprintf(&t, "| %s | %s | %s | `%s` |\n", f.name, f.value, f.goal, f.command)
	}
	return t.String()
}

// missingError says that something is missing that a section needs.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what }

// sharedPath returns the path of a file or folder in shared, or a *missingError.
func (b *bench) sharedPath(elements ...string) (string, error) {
	path := filepath.Join(append([]string{b.shared}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		return "", &missingError{path + " is missing"}
	}
	return path, nil
}
