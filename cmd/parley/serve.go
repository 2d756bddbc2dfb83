package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/access"
	"parley/internal/auth"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/extract/sandbox"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
	"parley/internal/server"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/adminapi"
	"parley/internal/wire/agui"
	"parley/internal/wire/aisdk"
	"parley/internal/wire/auditapi"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/chatui"
	"parley/internal/wire/dify"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/keysapi"
	"parley/internal/wire/librechat"
	"parley/internal/wire/membersapi"
	"parley/internal/wire/openai"
	"parley/internal/wire/openwebui"
	"parley/internal/wire/responses"
	"parley/internal/wire/usersapi"
	"parley/internal/wire/yourdata"
)

type serveCmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files, folders, URLs of web sites and addresses of remote sources to ingest first. Documents stored earlier are served too."`
	Watch bool     `help:"Follow everything that was ingested from this disk: changes are indexed, and deleted files forgotten, at once (setting ingest.watch)."`
	siteFlags
}

// Run serves until ctx ends. Ingestion runs at the same time; if it fails, the server goes on with
// the stored documents, unless a path cannot be ingested at all.
func (c serveCmd) Run(ctx context.Context, p *program) error {
	from, err := c.from(p, c.Paths)
	if err == nil {
		err = checkPaths(from.Paths)
	}
	if err != nil {
		return err
	}
	from.Remotes = distinct(append(from.Remotes, p.config.IngestSources.addresses()...))
	d := newDisplay(p.stderr, time.Now)
	p.log = newLogger(d, p.config.LogLevel)
	announce, unlock, err := p.lockServing()
	if err != nil {
		return err
	}
	defer unlock()
	if why, ok := sandbox.Confinement(); !ok {
		p.log.Info("extraction processes are not isolated from other files", "reason", why)
	}
	if p.config.IngestSchedule == 0 && p.config.IngestSources.askRights() {
		p.log.Warn("who may read the documents of sources with source_rights is asked only when the server starts; set ingest.schedule, for example to 15m")
	}
	in, err := p.openAnswering(ctx, retrieval.WithLateRepair())
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	release, err := in.claimServing(func() { fail(errReplaced) })
	if err != nil {
		return err
	}
	defer release()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.config.Addr)
	if err != nil {
		return &listenError{p.config.Addr, err}
	}
	url := serverURL(p.config, listener.Addr())
	entry, err := p.newEntrance(ctx, in, listener.Addr())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	changes := p.config.changes(listener.Addr())
	uploads := changes == auth.ByAll || changes == auth.ByEditors && !p.config.allowsAnonymous(listener.Addr())
	announce(serverURL(Config{}, listener.Addr()))
	fmt.Fprintf(p.stdout, "Serving on %s\n", url)
	noteStart(ctx, entry.audit, listener.Addr())

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	metrics := server.NewMetrics()
	metrics.Indexes(in.corpus.Memory)
	metrics.Segments(in.db.SegmentReads)
	untrace, err := p.trace(ctx, metrics)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer untrace()
	runner := in.newRunner(p.log, turn.Options{
		Keep: true, MaxTurns: p.config.LimitsMaxConcurrent, Observe: metrics.Observe, Saved: metrics.Saved,
	})
	s := &serving{program: p, instance: in, runner: runner, metrics: metrics, display: d, url: url, running: !from.Empty(), embedding: p.config.Embedding != "",
		uploads: uploads, entry: entry}
	in.lacks.progress, in.lacks.waiting, in.lacks.uploads = s.reading, s.documents.AwaitRecognition, uploads
	s.started = time.Now()
	b := s.startBeside(ctx, stop, from, c.Watch || p.config.IngestWatch)
	paceCollector(os.LookupEnv, &s.atWork)
	srv := s.server()
	b.Go(func() { runner.Relay(ctx) })
	b.Go(func() { s.stayKnown(ctx) })
	b.Go(func() { s.keepRoom(ctx) })
	b.Go(func() { entry.keys.Run(ctx) })
	err = srv.Serve(ctx, listener)
	stop()
	b.Wait()
	return b.reason(ctx, err)
}

// errReplaced ends a server whose database another program wants alone.
var errReplaced = errors.New("the connection to the database was interrupted, and another program has claimed the whole database meanwhile")

// beside is the work that goes on while the server answers. The errors may be read after Wait.
type beside struct {
	sync.WaitGroup
	ingested error // of the first ingestion
	damage   error // of the stored data
}

// reason returns why serving ended: the fault of the work beside it that stopped it, or otherwise the server's own.
func (b *beside) reason(ctx context.Context, served error) error {
	switch {
	case isUsage(b.ingested):
		return b.ingested
	case b.damage != nil:
		return b.damage
	case errors.Is(context.Cause(ctx), errReplaced):
		return errReplaced
	}
	return served
}

// startBeside starts the work beside the server. A usage error of the ingestion and damage to the stored data call stop.
func (s *serving) startBeside(ctx context.Context, stop func(), from documents.Sources, watch bool) *beside {
	b := &beside{}
	b.Go(func() {
		s.lead(ctx, func() { s.follows(ctx) }, func(ctx context.Context) {
			s.work(ctx, from, watch, func(err error) {
				if b.ingested = err; isUsage(err) {
					stop()
				}
			})
		})
	})
	b.Go(func() {
		if b.damage = s.checkStored(ctx); b.damage != nil {
			stop()
		}
	})
	b.Go(func() { s.releaseAtRest(ctx) })
	return b
}

// follows is called when another server reads documents.
func (s *serving) follows(ctx context.Context) {
	s.mu.Lock()
	s.running, s.embedding = false, false
	s.mu.Unlock()
	s.log.Info("another server reads documents and tidies up; this one does when that one stops")
	s.announce(ctx)
}

// work is what one server does for its data folder or database, until ctx ends. ingested is called after
// the first ingestion.
func (s *serving) work(ctx context.Context, from documents.Sources, watch bool, ingested func(error)) {
	var b sync.WaitGroup
	defer b.Wait()
	done := make(chan struct{}) // closed after the first ingestion
	b.Go(func() {
		defer close(done)
		ingested(s.follow(ctx, from))
	})
	b.Go(func() {
		if every := time.Duration(s.cfg.IngestSchedule); every > 0 && await(ctx, done) {
			s.documents.KeepSitesFresh(ctx, every)
		}
	})
	b.Go(func() {
		if await(ctx, done) {
			s.documents.KeepRemotesFresh(ctx, time.Duration(s.cfg.IngestSchedule))
		}
	})
	b.Go(func() {
		if await(ctx, done) {
			s.logUnless(ctx, "bring the uploaded files up to date", s.documents.RefreshUploads(ctx))
			s.keepOut(ctx)
		}
	})
	b.Go(func() { s.documents.Run(ctx) })
	b.Go(func() {
		if watch && await(ctx, done) {
			s.logUnless(ctx, "follow changes of files", s.documents.FollowFiles(ctx, nil))
		}
	})
	b.Go(func() { s.keepEmbedded(ctx, done) })
	b.Go(func() { s.keepWhole(ctx) })
	b.Go(func() { s.keepSettled(ctx) })
	b.Go(func() { s.keepHouse(ctx) })
	b.Go(func() { s.keepExpiring(ctx) })
}

// keepOut deletes documents that an earlier version made visible to everybody although they restrict access.
func (s *serving) keepOut(ctx context.Context) {
	out, err := s.documents.KeepOut(ctx)
	for _, f := range out {
		s.log.Warn("a document is not shown any more", "document", f.Path, "reason", f.Detail)
	}
	s.logUnless(ctx, "keep out documents that are restricted", err)
}

// await reports whether a channel was closed before ctx ended.
func await(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// logUnless logs an error of something that goes on beside the server, unless the server is stopping.
func (s *serving) logUnless(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("work beside the server failed", "doing", doing, "error", err)
	}
}

// checkPaths reports a missing path before anything starts.
func checkPaths(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return usagef("cannot ingest %s: there is no such file or folder", path)
		}
	}
	return nil
}

// serverURL returns the URL for users: the public URL, or the listening address, with localhost for
// all interfaces.
func serverURL(cfg Config, addr net.Addr) string {
	if cfg.PublicURL != "" {
		return cfg.PublicURL
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// serving is a running server. It tells HTTP handlers the state of the ingestion.
type serving struct {
	*program
	*instance
	runner  *turn.Runner
	metrics *server.Metrics
	display *display
	url     string
	entry   *entrance
	uploads bool // documents may come in over the network
	started time.Time

	mu         sync.Mutex
	running    bool // the ingestion runs; false after its report
	progress   ingest.Progress
	embedding  bool        // with an embedder, true until the first check finds nothing to do
	unembedded int         // chunks without vectors at the last check
	tooMany    atomic.Bool // too many chunks have no vector to embed them by default
	atWork     atomic.Bool // the process allocates; see releaseAtRest
}

var _ server.Status = (*serving)(nil)

func (s *serving) server() *server.Server {
	return server.New(server.Config{
		Namespace: s.cfg.Namespace, PublicURL: s.cfg.PublicURL, Origins: s.cfg.CORSOrigins, EmbedOrigins: s.cfg.Embed,
		Version: release, MaxConnections: s.placesFor(), MaxBody: int64(s.cfg.LimitsMaxBody), Drain: drainWindow(s.cfg.Drain),
	}, server.Deps{
		Protocols: s.protocols(), Documents: originals{s.db}, Status: s,
		Admit: s.entry.Admit, Changed: noteChanged(s.entry.audit), Namespaces: s.namespaces, Keys: s.keys, Drain: s.runner.Drain, Log: s.log, Metrics: s.metrics,
	})
}

// protocols returns the protocols of the server.
func (s *serving) protocols() []wire.Protocol {
	temp := s.scratch()
	files := filesapi.New(filesapi.Config{
		Temp:    temp,
		Library: s.library, Search: s.searcher.Search, Corpus: s.db.Corpus(), Read: s.read, Mode: s.engine.Defaults().Mode,
		Namespaces: s.namespaces, Namespace: s.cfg.Namespace, PublicURL: s.cfg.PublicURL, MaxUpload: int64(s.cfg.LimitsMaxUpload),
	})
	base := s.base(s.runner)
	completions := openai.New(openai.Config{Base: base, Give: files.Give, Embedding: s.embeddings()})
	return []wire.Protocol{
		azurechat.New(azurechat.Config{
			Base:    base,
			Store:   s.db.Transcripts(),
			Known:   s.knownConversation,
			Model:   s.cfg.Model,
			History: true,
			SignIn:  s.cfg.AuthOIDC.signIn(!s.entry.anonymous),
			Capabilities: azurechat.Capabilities{
				Vectors: s.cfg.Embedding != "", Rerank: s.cfg.reranks(),
				Effort: s.models.Capabilities(s.cfg.Model).Effort, Uploads: s.uploads,
			},
		}).Protocol(),
		completions.Protocol(),
		yourdata.New(yourdata.Config{Base: base, Store: s.db.Transcripts(), Complete: completions.Complete}).Protocol(),
		responses.New(responses.Config{
			Base:       base,
			Turns:      s.turnsElsewhere(),
			Log:        s.log,
			Store:      s.db.Transcripts(),
			Open:       files.Open,
			Give:       files.Give,
			MaxMessage: int64(s.cfg.LimitsMaxBody),
		}).Protocol(),
		chatui.New(chatui.Config{
			Base: base, Store: s.db.Transcripts(), Agents: s.cfg.agentNames(),
			Minimal: s.cfg.ChatUIFormat == "minimal", NoPartials: !s.cfg.ChatUIStreamPartials,
		}).Protocol(),
		// After chatui, with which it shares a path.
		aisdk.New(aisdk.Config{Base: base, Give: files.Give, Turns: s.runner, Board: s.board()}).Protocol(),
		agui.New(agui.Config{Base: base}).Protocol(),
		s.ragChat().Protocol(),
		s.mcp(s.program, s.runner).Protocol(),
		s.ingestAPI().Protocol(),
		files.Protocol(),
		dify.New(dify.Config{
			Search: s.searcher.Search, Namespaces: s.namespaces, Library: s.library, Mode: s.engine.Defaults().Mode,
			Namespace: s.cfg.Namespace, PublicURL: s.cfg.PublicURL,
		}).Protocol(),
		s.libreChat(temp).Protocol(),
		openwebui.New(openwebui.Config{Library: s.library, MaxUpload: int64(s.cfg.LimitsMaxUpload)}).Protocol(),
		s.webAPI().Protocol(),
		keysapi.New(s.db.APIKeys()).Protocol(),
		s.entry.protocol(s.cfg.AuthSession),
		auditapi.New(s.db.Audit()).Protocol(),
		adminapi.New(adminapi.Config{
			Examine: s.examine, Budgets: budgets(s.cfg, s.db, false).Period, SetBudgets: chosenBudgets{s.db.Shelf()}.set, Rated: s.db.Transcripts().Rated,
		}).Protocol(),
		usersapi.New(s.users()).Protocol(),
		membersapi.New(s.db.Members(), s.entry.members, s.db.Corpus(), s.corpus, s.db.Instructions()).Protocol(),
	}
}

// scratch returns an empty folder for files that are only read. What a killed server left there is removed; no other
// server has the same data folder. "" means the system's folder, if that one cannot be made.
func (s *serving) scratch() string {
	dir := scratchIn(s.cfg.Data)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		s.log.Error("make the folder for files that are read", "error", err)
		return ""
	}
	return dir
}

// scratchIn is the folder of a data folder for files that are only read.
func scratchIn(data string) string { return filepath.Join(data, "parley-scratch") }

// libreChat returns the handler of LibreChat's rag_api.
func (s *serving) libreChat(temp string) *librechat.Handler {
	return librechat.New(librechat.Config{
		Temp:      temp,
		Library:   s.library,
		Search:    s.searcher.Search,
		Pages:     s.db.Corpus().Pages,
		Chunks:    s.db.Corpus().RevisionChunks,
		Extract:   s.pages.Extract,
		Mode:      s.engine.Defaults().Mode,
		MaxUpload: int64(s.cfg.LimitsMaxUpload),
	})
}

// base returns what the protocols that run turns have in common.
func (in *instance) base(runner chat.Runner) wire.Base {
	return wire.Base{
		Runner: runner, Namespaces: in.namespaces, Defaults: in.engine.Defaults(),
		Namespace: in.cfg.Namespace, PublicURL: in.cfg.PublicURL, Vision: in.sees(),
	}
}

// namespaces returns the namespaces that a caller may ask; of vector stores, their own. The documents' access lists
// apply within them.
func (in *instance) namespaces(ctx context.Context, who access.Principal) ([]string, error) {
	all, err := in.db.Corpus().Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(name string) bool { return !who.MayUse(name) })
	return in.library.Visible(ctx, who.Subject, all)
}

// knownConversation reports whether a caller may continue a conversation.
func (s *serving) knownConversation(ctx context.Context, who access.Principal, id string) (bool, error) {
	scope := turn.Scope{Namespace: s.cfg.Namespace, Owner: who.Subject}
	_, err := s.db.State().Conversation(ctx, scope, id, 0)
	if errors.Is(err, turn.ErrNotFound) || errors.Is(err, turn.ErrForeign) {
		return false, nil
	}
	return err == nil, err
}

// follow ingests sources and reports the result.
func (s *serving) follow(ctx context.Context, from documents.Sources) error {
	if from.Empty() {
		s.announce(ctx)
		return nil
	}
	report, err := s.ingestPatiently(ctx, from)
	s.display.Finish()
	defer func() {
		s.mu.Lock()
		s.running = false
		s.mu.Unlock()
	}()
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(s.stderr, "The ingestion was interrupted; what was indexed so far is kept, and the next start continues from there.")
		return nil // the server is stopping
	}
	if err = badPath(err); isUsage(err) {
		return err
	}
	writeReport(s.stdout, report)
	if err != nil {
		fmt.Fprintf(s.stderr, "parley: the ingestion has stopped; the server continues with what is stored: %s\n", explain(err))
	}
	s.announce(ctx)
	return nil
}

// ingestPatiently ingests sources, and starts again while the database cannot be reached: files that are stored already are
// only compared.
func (s *serving) ingestPatiently(ctx context.Context, from documents.Sources) (ingest.Report, error) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		report, err := s.documents.Ingest(ctx, from, func(p ingest.Progress) {
			s.mu.Lock()
			s.progress = p
			s.mu.Unlock()
			s.display.Update(p)
		})
		if chat.KindOf(err) != chat.Unavailable || ctx.Err() != nil {
			return report, err
		}
		s.log.Warn("the ingestion lost the database and starts again", "in", pause, "error", err)
		if err := interrupt.Sleep(ctx, pause); err != nil {
			return report, err
		}
	}
}

// announce prints the documents, the model and the address of the server.
func (s *serving) announce(ctx context.Context) {
	stats, err := s.db.Corpus().Stats(ctx, s.cfg.Namespace)
	if err != nil {
		s.log.Error("count the corpus", "error", err)
		return
	}
	waiting, err := s.documents.AwaitRecognition(ctx, s.cfg.Namespace)
	if err != nil {
		s.log.Error("count the documents whose text is to be recognised", "error", err)
	}
	switch {
	case waiting > 0:
		fmt.Fprintf(s.stdout, "The text on the pages of %s is being recognised; answers use it when that is done. parley jobs shows how far it is.\n",
			plural(waiting, "scanned document"))
	case stats.Documents == 0:
		fmt.Fprintln(s.stdout, s.nothingServed(ctx))
	}
	fmt.Fprintf(s.stdout, "%s answers from %s (%s) on %s\n", s.cfg.Model,
		plural(stats.Documents, "document"), plural(stats.Chunks, "chunk"), s.url)
}

// nothingServed returns a sentence if the server's namespace has no documents; it names those that
// have.
func (s *serving) nothingServed(ctx context.Context) string {
	elsewhere := map[string]int{}
	all, err := s.db.Corpus().Namespaces(ctx)
	for _, namespace := range all {
		var stats retrieval.Stats
		if stats, err = s.db.Corpus().Stats(ctx, namespace); err != nil {
			break
		}
		elsewhere[namespace] = stats.Documents
	}
	if err != nil {
		s.log.Error("count the corpus", "error", err)
	}
	if len(elsewhere) == 0 {
		return fmt.Sprintf("There are no documents in the namespace %s yet: name files, folders or URLs to serve.", s.cfg.Namespace)
	}
	return fmt.Sprintf("There are no documents in the namespace %s, which answers questions that name no namespace. Others have some: %s. "+
		"--namespace NAME answers from one of those.", s.cfg.Namespace, countIn(elsewhere))
}

// Ready is always nil, because the server listens only when it can answer.
func (s *serving) Ready(context.Context) error { return nil }

// statsTimeout limits how long a probe waits for the size of the corpus.
const statsTimeout = time.Second

// Ingestion returns the state of the ingestion and the size of the corpus.
func (s *serving) Ingestion() server.Ingestion {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	stats, err := s.db.Corpus().Stats(ctx, s.cfg.Namespace)
	if err != nil {
		s.log.Warn("count the corpus", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.progress
	return server.Ingestion{
		Running: s.running, Files: p.FilesTotal, Done: p.FilesDone,
		Indexed:   p.FilesDone - p.Unchanged - p.Skipped - p.Failed,
		Unchanged: p.Unchanged, Skipped: p.Skipped, Failed: p.Failed,
		Documents: stats.Documents, Pages: stats.Pages, Chunks: stats.Chunks, Partly: stats.Partly,
		Embedding: s.embedding, Unembedded: s.unembedded,
	}
}

// drainWindow converts the setting, where 0 means none, to the server's option, where 0 means the
// default.
func drainWindow(d duration) time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}
