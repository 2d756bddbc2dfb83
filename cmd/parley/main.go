// Command parley answers questions about your documents over the protocols of existing chat
// front ends.
//
//	parley serve PATH…        ingest files, folders and URLs, and serve them on 127.0.0.1:8000
//	parley ingest PATH…       ingest only
//	parley read FILE…         print what an ingestion takes from files
//	parley ask "question"     answer on the terminal, with citations
//	parley eval DATASET       measure retrieval on a data set
//	parley mcp                serve an MCP client on standard input and output
//	parley reindex            rebuild all documents from their stored originals
//	parley sources            list, read, pause, resume and remove remote sources
//	parley jobs               list, show, retry and cancel jobs of uploads
//	parley keys               create, list and revoke keys of programs
//	parley members            list, add and remove members of namespaces
//	parley users              list, export and delete users
//	parley sessions           list and end the sessions of people on the web page
//	parley audit              print who did what
//	parley usage              report what model calls took and cost
//	parley backup FILE        write everything that is stored to one file, while the server runs
//	parley restore FILE       put a backup into the data folder
//	parley migrate FROM TO    copy everything between SQLite and PostgreSQL
//	parley doctor             check the deployment and say what to change
//	parley check URL          check which rules of the chat protocols a server follows
//	parley models             list models, with context size and price
//	parley prompts            list the prompts for models
//	parley config             print the effective configuration
//	parley version            print the version
//
// It exits with 0 when all went well, 1 after a failure at run time, 2 for a mistake in the
// command or the configuration, and 3 when an ingestion, a reading or a backup finished but could not read some files.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"parley/internal/documents/ingest"
	"parley/internal/extract/sandbox"
	"parley/internal/store"
	"parley/internal/telemetry"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitPartial = 3 // an ingestion, a reading or a backup finished, but some files could not be read
)

// errPartial ends a command whose report already named the files that could not be read.
var errPartial = errors.New("some files could not be read")

// program is the state that commands share.
type program struct {
	stdout io.Writer // results
	stderr io.Writer // progress, logs and errors
	config Config
	origin map[string]string // origin of each value by flag name
	// configFile is the path of the configuration file, "" without one.
	configFile string
	log        *slog.Logger
	// lookupEnv is for the variables that settings name.
	lookupEnv func(string) (string, bool)
	// given holds the names of the flags that stood on the command line.
	given map[string]bool
	// serversEmbed says that nobody has chosen an embedder. Then only servers embed documents, in the background, if at all.
	serversEmbed bool
	// stored is what a server has open; nil for commands, which open it themselves.
	stored *store.DB
}

// commandLine is the grammar that kong reads.
type commandLine struct {
	Config
	ConfigFile string           `name:"config" env:"PARLEY_CONFIG" placeholder:"FILE" help:"YAML file with settings. Flags win over the environment, which wins over the file."`
	PrintV     kong.VersionFlag `name:"version" help:"Print the version."`

	Serve    serveCmd    `cmd:"" settings:"addr,data,database,namespace,model,embedding,openai-api-key,openai-base-url,public-url,log-level" help:"Ingest files, folders and web sites, and serve them; without a PATH, serve what is stored."`
	Ingest   ingestCmd   `cmd:"" settings:"data,database,namespace,embedding,ingest-images,ingest-ocr,log-level" help:"Ingest files, folders and web sites."`
	Read     readCmd     `cmd:"" settings:"ingest-images,ingest-ocr,ingest-ocr-languages,extract-timeout,extract-memory" help:"Print what an ingestion takes from files, page by page; store nothing."`
	Reindex  reindexCmd  `cmd:"" settings:"data,database,namespace,embedding,ingest-ocr,log-level" help:"Rebuild all documents from their stored originals, then switch to them in one step."`
	Ask      askCmd      `cmd:"" settings:"data,database,namespace,model,embedding,openai-api-key,openai-base-url" help:"Answer a question on the terminal, with citations."`
	Eval     evalCmd     `cmd:"" settings:"model,embedding,openai-api-key,openai-base-url" help:"Measure retrieval and answers on a data set."`
	MCP      mcpCmd      `cmd:"" name:"mcp" help:"Serve an MCP client on standard input and output; sign in at MCP servers."`
	Jobs     jobsCmd     `cmd:"" help:"List, show, retry and cancel the jobs of uploads and indexing requests."`
	Keys     keysCmd     `cmd:"" settings:"data,database,namespace" help:"Create, list and revoke keys with which programs sign in."`
	Sessions sessionsCmd `cmd:"" help:"List and end the sessions of people who signed in on the web page."`
	Sources  sourcesCmd  `cmd:"" settings:"data,database,namespace" help:"List, read, pause, resume and remove remote sources: git repositories, buckets, WebDAV and SFTP folders, mailboxes."`
	Members  membersCmd  `cmd:"" settings:"data,database,namespace" help:"List, add and remove the members of namespaces."`
	Users    usersCmd    `cmd:"" help:"List users, and export or delete everything that is kept about one."`
	Audit    auditCmd    `cmd:"" help:"Print the audit log: sign-ins, refusals and changes, as JSON Lines."`
	Usage    usageCmd    `cmd:"" help:"Report tokens and cost of model calls, by day, namespace, user, conversation, model, stage or turn."`
	Backup   backupCmd   `cmd:"" help:"Write everything that is stored to one file, also while a server runs."`
	Restore  restoreCmd  `cmd:"" settings:"data" help:"Verify a backup, and put what it holds into the data folder."`
	Doctor   doctorCmd   `cmd:"" settings:"addr,data,database,model,embedding,public-url" help:"Check this deployment, and say what to change."`
	Check    checkCmd    `cmd:"" settings:"" help:"Check which rules of the chat protocols a server follows, Parley or any other."`
	Models   modelsCmd   `cmd:"" settings:"openai-api-key,openai-base-url,providers" help:"List the model providers, whether they can be reached, and what their models accept and cost."`
	Prompts  promptsCmd  `cmd:"" settings:"prompts" help:"List the prompts, or print one of them."`
	Migrate  migrateCmd  `cmd:"" settings:"" help:"Copy everything from one data folder or PostgreSQL database to another."`
	Show     configCmd   `cmd:"" name:"config" help:"Print the effective configuration, with secrets hidden."`
	Version  versionCmd  `cmd:"" settings:"" help:"Print the version."`
}

func main() {
	sandbox.RunWorkerIfAsked(ingest.Post)
	limitMemory(os.LookupEnv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
	stop()
	os.Exit(code)
}

// run is the whole program except process-wide state, and returns the exit code. The command ends
// early when ctx ends; main ends it at the first SIGINT or SIGTERM.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool)) int {
	p := &program{stdout: stdout, stderr: stderr, lookupEnv: lookupEnv, given: map[string]bool{}}
	err := p.dispatch(ctx, args, lookupEnv)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errPartial) {
		return exitPartial
	}
	fmt.Fprintf(stderr, "parley: %s\n", explain(err))
	if isUsage(err) {
		return exitUsage
	}
	return exitFailure
}

func (p *program) dispatch(ctx context.Context, args []string, lookupEnv func(string) (string, bool)) error {
	var line commandLine
	l := &layers{lookupEnv: lookupEnv, origin: map[string]string{}}
	parser, err := kong.New(&line,
		kong.Name("parley"),
		kong.Description("One chat back end for every chat front end, over your documents."),
		kong.Writers(p.stdout, p.stderr),
		kong.Vars{"version": version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(briefHelp),
		kong.PostBuild(forgetEnv),
		kong.Resolvers(l),
		kong.Bind(p),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return fmt.Errorf("build the command line: %w", err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if err := checkRemoved(args, lookupEnv); err != nil {
		return err
	}
	kctx, err := parser.Parse(args)
	if l.err != nil {
		return l.err
	}
	if err != nil {
		return usagef("%w; see %s --help", err, commandOf(err))
	}
	for _, path := range kctx.Path {
		if path.Flag != nil && !path.Resolved {
			p.given[path.Flag.Name] = true
			l.origin[path.Flag.Name] = "--" + path.Flag.Name
		}
	}
	p.config, p.origin, p.configFile = line.Config, l.origin, l.path
	if err := p.config.validate(); err != nil {
		return err.at(p.origin[err.flag])
	}
	p.config.Embedding, p.serversEmbed = p.config.embedder()
	p.log = newLogger(p.stderr, p.config.LogLevel)
	if p.config.Telemetry != "" {
		p.log = slog.New(telemetry.Logged(p.log.Handler()))
	}
	return kctx.Run()
}

// newLogger writes lines of key=value pairs; level has been validated.
func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}
