package server

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
)

// Metrics holds the metrics of /metrics in its own registry. Labels have few values, such as route
// patterns, statuses and stages, and never contain input from clients.
type Metrics struct {
	registry *prometheus.Registry
	page     http.Handler

	requests      *prometheus.CounterVec
	durations     *prometheus.HistogramVec
	activeStreams prometheus.Gauge

	activeTurns prometheus.Gauge
	turns       *prometheus.CounterVec
	firstToken  prometheus.Observer
	deltas      prometheus.Counter
	tokens      *prometheus.CounterVec
	cost        prometheus.Counter
	citations   *prometheus.CounterVec
	stages      *prometheus.HistogramVec
	evicted     *prometheus.CounterVec
}

// NewMetrics returns metrics that start at zero, for one Server.
func NewMetrics() *Metrics {
	// Buckets from a search in memory to the longest answer of a slow model.
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	registry := prometheus.NewRegistry()
	m, in := &Metrics{registry: registry}, promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return in.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return in.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
	}
	m.requests = counter("parley_http_requests_total", "Requests by route and status.", "route", "status")
	m.durations = histogram("parley_http_request_duration_seconds", "Time from a request's header to the end of its response.", "route")
	m.activeStreams = gauge("parley_active_streams", "Responses that are being streamed.")
	m.activeTurns = gauge("parley_active_turns", "Turns in progress.")
	m.turns = counter("parley_turns_total", "Turns that ended, by status.", "status")
	m.firstToken = histogram("parley_time_to_first_token_seconds", "Time from the start of a turn to the first text of its answer.").WithLabelValues()
	m.deltas = counter("parley_text_deltas_total", "Pieces of text that models produced.").WithLabelValues()
	m.tokens = counter("parley_tokens_total", "Tokens by direction, as reported or estimated.", "direction")
	m.cost = counter("parley_cost_dollars_total", "Cost of the models that turns called, in US dollars, where prices are known.").WithLabelValues()
	m.citations = counter("parley_citations_total", "Citations in the answers of models: accepted; unsupported by the cited page; or invented, and so removed.", "kind")
	m.stages = histogram("parley_stage_duration_seconds", "Duration of the stages of a turn; retrieve is the search.", "stage")
	m.evicted = counter("parley_evicted_total",
		"Records deleted to make room: of anonymous callers beyond limits.chats and limits.address_chats, and the oldest accounts and idempotency keys.", "kind")
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.page = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return m
}

// describe adds the metrics that need the server.
func (m *Metrics) describe(version string, status Status) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "parley_build_info", Help: "Always 1; the labels identify the build.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build, ingestionCollector{status})
}

func (m *Metrics) observeRequest(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(route).Observe(took.Seconds())
}

// Indexes adds the metrics of the indexes in memory.
func (m *Metrics) Indexes(now func() retrieval.Memory) {
	gauge := func(name, help string, value func(retrieval.Memory) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value(now())) })
	}
	counter := func(name, help string, value func(retrieval.Memory) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(now())) })
	}
	m.registry.MustRegister(
		gauge("parley_index_memory_bytes", "Approximate memory used by the indexes.", func(in retrieval.Memory) int64 { return in.Bytes }),
		gauge("parley_index_memory_limit_bytes", "Memory that indexes may use (index.memory); 0: no limit.", func(in retrieval.Memory) int64 { return in.Bound }),
		gauge("parley_index_namespaces", "Namespaces whose index is in memory.", func(in retrieval.Memory) int64 { return int64(in.Namespaces) }),
		counter("parley_index_loads_total", "Indexes that were read because they were not in memory.", func(in retrieval.Memory) int64 { return in.Loaded }),
		counter("parley_index_drops_total", "Indexes removed from memory to make room for others.", func(in retrieval.Memory) int64 { return in.Dropped }),
	)
}

// Segments adds the counters of index segments that were read from files on this machine and from the PostgreSQL
// database.
func (m *Metrics) Segments(reads func() (files, database int64)) {
	counter := func(from string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "parley_index_segments_read_total", Help: "Segments of indexes in PostgreSQL that were read, by source.",
			ConstLabels: prometheus.Labels{"from": from},
		}, func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(
		counter("disk", func() int64 { files, _ := reads(); return files }),
		counter("database", func() int64 { _, database := reads(); return database }),
	)
}

// Evicted counts n deletions of a kind that made room.
func (m *Metrics) Evicted(kind string, n int) { m.evicted.WithLabelValues(kind).Add(float64(n)) }

// Gatherer returns the metrics for exporters other than /metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Observe returns an observer that counts one turn.
func (m *Metrics) Observe() turn.Observer { return &observer{Metrics: m, start: time.Now()} }

// observer counts one turn.
type observer struct {
	*Metrics
	start  time.Time
	begun  bool
	spoken bool
}

// Event counts an event of the turn.
func (o *observer) Event(e chat.Event) {
	if !o.begun {
		o.begun = true
		o.activeTurns.Inc()
	}
	switch e := e.(type) {
	case chat.TextDelta:
		if !o.spoken {
			o.spoken = true
			o.firstToken.Observe(time.Since(o.start).Seconds())
		}
		o.deltas.Inc()
	case chat.MessageFinished:
		o.observeCitations(e)
	case chat.StageFinished:
		o.stages.WithLabelValues(string(e.Stage)).Observe(e.Duration.Seconds())
	}
}

// End counts the status of the turn.
func (o *observer) End(status chat.Status) {
	if o.begun {
		o.activeTurns.Dec()
	}
	o.turns.WithLabelValues(string(status)).Inc()
}

// Saved counts the tokens and the cost of a turn. For a turn that was cut off, they are known only when it is saved.
func (m *Metrics) Saved(r turn.Record) {
	m.tokens.WithLabelValues("input").Add(float64(max(r.Usage.Input, 0)))
	m.tokens.WithLabelValues("output").Add(float64(max(r.Usage.Output, 0)))
	for i := range r.Ended {
		m.cost.Add(float64(max(r.Ended[i].Cost.Micros, 0)) / 1e6)
	}
}

// observeCitations counts each citation of a message once, by its label.
func (m *Metrics) observeCitations(e chat.MessageFinished) {
	for _, d := range e.Doubts {
		if d.Kind == chat.Invented {
			m.citations.WithLabelValues(string(d.Kind)).Inc()
		}
	}
	unsupported := len(e.Unsupported())
	m.citations.WithLabelValues(string(chat.Unsupported)).Add(float64(unsupported))
	m.citations.WithLabelValues("accepted").Add(float64(max(len(e.Citations)-unsupported, 0)))
}

func (s *Server) metricsPage(w http.ResponseWriter, r *wire.Request) error {
	s.metrics.page.ServeHTTP(w, r.Request)
	return nil
}

// ingestionCollector reads the state of ingestion at each scrape.
type ingestionCollector struct{ status Status }

var (
	ingestRunning = prometheus.NewDesc("parley_ingestion_running", "1 while ingestion runs.", nil, nil)
	ingestFiles   = prometheus.NewDesc("parley_ingestion_files", "Files of the current or last ingestion, by outcome.",
		[]string{"outcome"}, nil)
	corpusSize = prometheus.NewDesc("parley_corpus", "What the corpus holds.", []string{"unit"}, nil)
)

// Describe sends the descriptions of Collect's metrics.
func (c ingestionCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- ingestRunning
	ch <- ingestFiles
	ch <- corpusSize
}

// Collect sends the current values.
func (c ingestionCollector) Collect(ch chan<- prometheus.Metric) {
	in := c.status.Ingestion()
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	running := 0
	if in.Running {
		running = 1
	}
	gauge(ingestRunning, running)
	gauge(ingestFiles, in.Indexed, "indexed")
	gauge(ingestFiles, in.Unchanged, "unchanged")
	gauge(ingestFiles, in.Skipped, "skipped")
	gauge(ingestFiles, in.Failed, "failed")
	gauge(ingestFiles, in.Files-in.Done, "waiting")
	gauge(corpusSize, in.Documents, "documents")
	gauge(corpusSize, in.Partly, "documents_read_in_part")
	gauge(corpusSize, in.Pages, "pages")
	gauge(corpusSize, in.Chunks, "chunks")
	gauge(corpusSize, in.Unembedded, "unembedded_chunks")
}
