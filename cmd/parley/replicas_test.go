package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/test/needs"
)

// replicas are servers on one database behind a proxy.
type replicas struct {
	*ragChatServer // with the address of the proxy
	url            string
	env, args      []string
	data           []string
	calls          atomic.Int32 // of the model

	mu   sync.Mutex
	all  []*process
	next int
}

// slowly answers like OpenAI's API, a word now and then, so that kills fall into streams.
func (r *replicas) slowly(pause time.Duration, words int) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet { // the list of models
			http.NotFound(w, req)
			return
		}
		r.calls.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		for range words {
			fmt.Fprint(w, "data: {\"id\":\"x\",\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
		fmt.Fprint(w, "data: {\"id\":\"x\",\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"id\":\"x\",\"model\":\"gpt-4o-mini\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,\"total_tokens\":18}}\n\ndata: [DONE]\n\n")
	}
}

// startReplicas starts n servers on an empty database.
func startReplicas(t *testing.T, url string, n int, pause time.Duration, words int) *replicas {
	t.Helper()
	r := &replicas{url: url}
	model := httptest.NewServer(r.slowly(pause, words))
	t.Cleanup(model.Close)
	r.env = []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + model.URL, "PARLEY_DATABASE=" + r.url}
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("openai:\n  models:\n    gpt-4o-mini: {input: 3, cached: 1, output: 7}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.args = []string{"--model", "openai:gpt-4o-mini", "--prices", prices, "--public-url", "https://parley.example", "--drain", "30s"}
	r.all = make([]*process, n)
	for i := range n {
		r.data = append(r.data, t.TempDir())
		r.start(t, i)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Transport: r, ErrorLog: nil,
		Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = "http", "replica" },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}})
	t.Cleanup(front.Close)
	r.ragChatServer = &ragChatServer{process: &process{addr: strings.TrimPrefix(front.URL, "http://")}}
	return r
}

func (r *replicas) start(t *testing.T, i int) {
	t.Helper()
	p := startServe(t, r.env, append([]string{"--data", r.data[i]}, r.args...)...)
	if err := awaitReady(p.addr); err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	r.mu.Lock()
	r.all[i] = p
	r.mu.Unlock()
}

// take takes a replica away from the proxy.
func (r *replicas) take(i int) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.all[i]
	r.all[i] = nil
	return p
}

// RoundTrip sends a request to one replica after the other until one takes the connection.
func (r *replicas) RoundTrip(req *http.Request) (res *http.Response, err error) {
	var body []byte
	if req.Body != nil {
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	for range 100 {
		r.mu.Lock()
		r.next++
		p := r.all[r.next%len(r.all)]
		r.mu.Unlock()
		if p == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		out := req.Clone(req.Context())
		out.URL = &url.URL{Scheme: "http", Host: p.addr, Path: req.URL.Path, RawQuery: req.URL.RawQuery}
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.ContentLength = int64(len(body))
		transport := http.Transport{DisableKeepAlives: true}
		res, err = transport.RoundTrip(out)
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			return res, err
		}
	}
	return nil, err
}

// attempt is one request of a history.
type attempt struct {
	client, question int
	began, ended     time.Time
	status           int // 0: the connection broke
	turn, answer     string
}

// history records what clients saw and what was done to the servers.
type history struct {
	mu       sync.Mutex
	attempts []attempt
	faults   []outage
}

// outage is a time in which a request may fail.
type outage struct {
	what         string
	began, ended time.Time
}

func (h *history) add(a attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts = append(h.attempts, a)
}

// during records a fault.
func (h *history) during(what string, do func()) {
	f := outage{what: what, began: time.Now()}
	do()
	f.ended = time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, f)
}

// check decides whether a history is one of a correct service: each question is answered in the end by one
// turn, however often it was asked, and fails at most once for each fault that overlaps it, with an error
// that says to ask again. It returns the turns by client, in order.
func (h *history) check(t *testing.T) map[int][]attempt {
	t.Helper()
	type question struct{ client, n int }
	failed, answered := map[question][]attempt{}, map[question][]attempt{}
	turns := map[string]question{}
	for _, a := range h.attempts {
		q := question{a.client, a.question}
		switch a.status {
		case http.StatusOK:
			if other, taken := turns[a.turn]; taken && other != q {
				t.Errorf("turn %s answered %v and %v", a.turn, q, other)
			}
			turns[a.turn] = q
			answered[q] = append(answered[q], a)
		case 0, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusConflict:
			failed[q] = append(failed[q], a)
		default:
			t.Errorf("%v: status %d: %s", q, a.status, a.answer)
		}
	}
	clients := map[int][]attempt{}
	for q, all := range answered {
		first, last := all[0], all[len(all)-1]
		if first.turn != last.turn || first.answer != last.answer {
			t.Errorf("%v was answered by turn %s and by turn %s", q, first.turn, last.turn)
		}
		began := first.began
		if tries := failed[q]; len(tries) > 0 {
			began = tries[0].began
		}
		overlapping := 0
		for _, f := range h.faults {
			if f.began.Before(first.ended) && began.Before(f.ended) {
				overlapping++
			}
		}
		if len(failed[q]) > overlapping {
			t.Errorf("%v failed %d times during %d faults: %+v", q, len(failed[q]), overlapping, failed[q])
		}
		clients[q.client] = append(clients[q.client], first)
	}
	for q := range failed {
		if answered[q] == nil {
			t.Errorf("%v was never answered", q)
		}
	}
	for _, all := range clients {
		slices.SortFunc(all, func(a, b attempt) int { return a.question - b.question })
	}
	return clients
}

// ask sends a question until it is answered.
func (r *replicas) ask(t *testing.T, h *history, client, n int, session string) {
	a := asker{session: session}
	for {
		try := attempt{client: client, question: n, began: time.Now()}
		res, err := a.send(r.ragChatServer, n)
		try.ended, try.answer = time.Now(), res.Answer
		if took := try.ended.Sub(try.began); took > time.Minute {
			t.Errorf("client %d waited %v for question %d: status %d, %v", client, took, n, res.status, err)
		}
		if try.status = res.status; err == nil && res.status == http.StatusOK {
			try.turn = res.header.Get("X-Turn-Id")
			h.add(try)
			return
		} else if res.status == http.StatusOK {
			try.status = 0 // it broke off
		}
		try.answer = res.body
		h.add(try)
		time.Sleep(50 * time.Millisecond)
	}
}

// Replicas are killed and started again, connections to the database cut, and the database restarted, while
// clients talk through a proxy that knows nothing of conversations. No acknowledged turn is lost or doubled,
// the ledger has every call once, and a client has to repeat a question at most once for each fault.
func TestReplicas_LoseAndDoubleNothingWhileTheyAreKilled(t *testing.T) { // alone: other tests use the database that it restarts
	needs.Long(t)
	const clients, rounds = 6, 8
	r := startReplicas(t, pgtest.New(t), 3, 5*time.Millisecond, 20)
	var h history
	end := r.keepAsking(t, &h, clients)
	for round := range rounds {
		time.Sleep(time.Duration(200+rand.IntN(300)) * time.Millisecond)
		switch {
		case round == rounds/2:
			h.during("the database restarts", func() { pgtest.Restart(t, 200*time.Millisecond) })
		case round%3 == 2:
			h.during("connections are cut", func() { pgtest.Cut(t, r.url) })
		default:
			victim := rand.IntN(len(r.data))
			h.during("a replica is killed", func() { r.take(victim).signal(t, syscall.SIGKILL) })
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			r.start(t, victim)
		}
	}
	time.Sleep(200 * time.Millisecond)
	end()
}

// keepAsking has clients ask until end is called, which then checks what they were told.
func (r *replicas) keepAsking(t *testing.T, h *history, clients int) (end func()) {
	t.Helper()
	sessions := make([]string, clients)
	for i := range sessions {
		sessions[i] = r.session(t)
	}
	done := make(chan struct{})
	var asking sync.WaitGroup
	for i, session := range sessions {
		asking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
					r.ask(t, h, i, n, session)
				}
			}
		})
	}
	return func() {
		t.Helper()
		close(done)
		asking.Wait()
		for i, session := range sessions { // the first answers once more, from whichever replica
			a := asker{session: session}
			for n := range 3 {
				if res, err := a.send(r.ragChatServer, n); err == nil {
					h.add(attempt{client: i, question: n, began: time.Now(), ended: time.Now(), status: res.status, turn: res.header.Get("X-Turn-Id"), answer: res.Answer})
				}
			}
		}
		r.checkStored(t, h.check(t), sessions)
	}
}

// The database's machine dies under load, and a standby takes over.
func TestReplicas_LoseAndDoubleNothingWhenAStandbyTakesOver(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	pair := pgtest.NewPair(t)
	r := startReplicas(t, pair.URL(), 2, 5*time.Millisecond, 20)
	var h history
	end := r.keepAsking(t, &h, 6)
	r.await(t, 12)
	h.during("a standby takes over", func() {
		pair.FailOver(t)
		r.await(t, 12)
	})
	end()
}

// await waits for more calls of the model, after which turns are saved.
func (r *replicas) await(t *testing.T, more int32) {
	t.Helper()
	until := r.calls.Load() + more
	if err := poll("calls of the model", func() bool { return r.calls.Load() >= until }); err != nil {
		t.Fatal(err)
	}
}

// checkStored compares what clients were told with what is stored.
func (r *replicas) checkStored(t *testing.T, clients map[int][]attempt, sessions []string) {
	t.Helper()
	turns := map[string]bool{}
	for i, session := range sessions {
		stored := r.history(t, session)
		if len(stored) != 2*len(clients[i]) || len(stored) == 0 {
			t.Errorf("client %d: %d messages are stored after %d acknowledged turns", i, len(stored), len(clients[i]))
			continue
		}
		for n, a := range clients[i] {
			turns[a.turn] = true
			if want := "user: " + (&asker{}).question(n); stored[2*n] != want {
				t.Errorf("client %d: message %d is %q, want %q", i, 2*n, stored[2*n], want)
			}
		}
	}
	const perCall = 11*3 + 7*7 // micro-dollars
	byTurn, sum := r.usage(t, "turn")
	_, byConversation := r.usage(t, "conversation")
	for _, row := range byTurn {
		id, _ := row["turn"].(string)
		exact := row["cost_micros"] == float64(perCall) && row["calls"] == 1.0
		if turns[id] && !exact {
			t.Errorf("turn %s has %v calls, which took %v micro-dollars", id, row["calls"], row["cost_micros"])
		}
		delete(turns, id)
	}
	if len(turns) > 0 {
		t.Errorf("%d acknowledged turns are not in the ledger", len(turns))
	}
	db, err := store.OpenPostgres(t.Context(), r.url, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// What killed servers had begun is known, and waits to be settled.
	open, err := db.State().Unsettled(t.Context(), 1000)
	if calls := int(r.calls.Load()); err != nil || sum != byConversation || calls > len(byTurn)+len(open) {
		t.Errorf("%v: turns took %d, conversations %d; the model was called %d times, %d calls are settled and %d open",
			err, sum, byConversation, calls, len(byTurn), len(open))
	}
	t.Logf("%d turns are in the ledger, and %d open calls, of %d calls of the model", len(byTurn), len(open), r.calls.Load())
}

// Each replica is stopped and started again while answers are streamed: PARLEY_STREAMS at a time, or 12. Nobody
// loses an answer, and nobody hears an error.
func TestReplicas_RestartOneAfterTheOtherUnderStreams(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	streams := 12
	if text := os.Getenv("PARLEY_STREAMS"); text != "" {
		var err error
		if streams, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := startReplicas(t, pgtest.New(t), 3, 50*time.Millisecond, 30)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done := make(chan struct{})
	var whole atomic.Int32
	var asking sync.WaitGroup
	for i := range streams {
		asking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+"/v1/chat/completions",
					strings.NewReader(`{"model":"parley","stream":true,"messages":[{"role":"user","content":"How high is Mount Everest?"}]}`))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Idempotency-Key", fmt.Sprint(i, " ", n))
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "[DONE]") || !strings.Contains(string(body), "word") {
					t.Errorf("status %d, %v: %.300s", res.StatusCode, err, body)
					return
				}
				whole.Add(1)
			}
		})
	}
	for i := range r.data {
		time.Sleep(300 * time.Millisecond)
		if err := r.take(i).signal(t, os.Interrupt); err != nil {
			t.Errorf("replica %d ended with %v", i, err)
		}
		r.start(t, i)
	}
	close(done)
	asking.Wait()
	t.Logf("%d whole answers", whole.Load())
}
