package aisdk

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire/wiretest"
)

// kept is a turn.Store that stores nothing.
type kept struct{ turn.Store }

func (kept) Save(context.Context, turn.Record) error { return nil }

func (kept) Said(context.Context, string) (turn.Said, error) { return turn.Said{}, turn.ErrNotFound }

// runnerOf returns a handler whose turns really run.
func runnerOf(t *testing.T, engine chat.Runner) *Handler {
	t.Helper()
	r := turn.NewRunner(engine, kept{}, turn.Options{Keep: true})
	return handlerOf(r, func(c *Config) { c.Turns = r })
}

const streamPath = endpoint + "/c1/stream"

// answers says what the chunks add up to.
func answers(body string) (text, last string) {
	chunks := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	for _, chunk := range chunks {
		if _, rest, ok := strings.Cut(chunk, `"type":"text-delta","id":"1","delta":"`); ok {
			text += strings.TrimSuffix(rest, `"}`)
		}
	}
	if len(chunks) > 1 {
		last = chunks[len(chunks)-2]
	}
	return text, last
}

// A turn that goes on without its client can be stopped, and everybody who follows it reads that it was.
func TestStop_EndsAnAnswerThatGoesOnWithoutItsClient(t *testing.T) {
	halfway := make(chan bool)
	engine := wiretest.NewTalking(func(ctx context.Context, yield func(chat.Event, error) bool) {
		close(halfway)
		wiretest.Waiting(ctx, yield)
	})
	h := runnerOf(t, engine)
	first := make(chan *httptest.ResponseRecorder)
	go func() {
		r := httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader(asking))
		r = r.WithContext(turn.Steer(r.Context(), turn.Steering{Policy: turn.Finish}))
		w := httptest.NewRecorder()
		serve(h).ServeHTTP(w, r)
		first <- w
	}()
	<-halfway
	if w := send(h, http.MethodDelete, streamPath, ""); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	<-engine.Ended
	w := <-first
	if text, last := answers(w.Body.String()); text != "It" || last != `data: {"type":"abort"}` {
		t.Errorf("the client read %s", w.Body)
	}
}

// follower is a client that reads a stream.
type follower struct {
	begun chan bool   // closed after the first event
	body  chan string // the whole of it, once it has ended
}

func follow(t *testing.T, server *httptest.Server, method, path, body string) follower {
	f := follower{make(chan bool), make(chan string, 1)}
	go func() {
		defer close(f.body)
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		reader := bufio.NewReader(res.Body)
		first, err := reader.ReadString('\n')
		close(f.begun)
		rest, _ := io.ReadAll(reader)
		if err != nil {
			t.Error(err)
		}
		f.body <- first + string(rest)
	}()
	return f
}

// A client that comes back reads all chunks from the beginning, for the message that its first request has
// begun or gone on with.
func TestResume_RepeatsAllChunksOfTheAnswerThatIsBeingWritten(t *testing.T) {
	halfway, goOn := make(chan bool), make(chan bool)
	engine := wiretest.NewTalking(func(_ context.Context, yield func(chat.Event, error) bool) {
		close(halfway)
		<-goOn
		_ = yield(chat.TextDelta{ID: "m", Text: " is high"}, nil) &&
			yield(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "It is high"}, nil) && yield(chat.TurnFinished{}, nil)
	})
	h := runnerOf(t, engine)
	server := httptest.NewServer(serve(h))
	defer server.Close()
	const body = `{"id":"c1","messages":[{"role":"user","parts":[{"type":"text","text":"q"}]},` +
		`{"id":"m2","role":"assistant","parts":[{"type":"tool-a","toolCallId":"c","state":"output-available","input":{},"output":1}]}]}`
	first := follow(t, server, http.MethodPost, endpoint, body)
	<-halfway
	again := follow(t, server, http.MethodGet, streamPath, "")
	<-first.begun
	<-again.begun
	for _, method := range []string{http.MethodGet, http.MethodDelete} { // of another caller
		if w := send(h, method, streamPath, "", "X-Test-User", "bert"); w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	close(goOn)
	for name, body := range map[string]string{"the first client": <-first.body, "the second client": <-again.body} {
		text, last := answers(body)
		if text != "It is high" || !strings.Contains(last, `"type":"finish"`) || !strings.HasPrefix(body, `data: {"type":"start","messageId":"m2"}`) {
			t.Errorf("%s read %s", name, body)
		}
	}
	for _, path := range []string{streamPath, endpoint + "/c2/stream"} {
		if w := send(h, http.MethodGet, path, ""); w.Code != http.StatusNoContent {
			t.Errorf("%s, where no answer is being written: %d %s", path, w.Code, w.Body)
		}
	}
}

// The keep-alive of a turn that is still waiting must not take the place of the first chunks.
func TestResume_BeginsTheMessageEvenIfNothingHappensAtFirst(t *testing.T) {
	w := httptest.NewRecorder()
	s := handlerOf(nil, nil).session(w, "m1", "", "default")
	err := s.run(t.Context(), func(yield func(chat.Event, error) bool) {
		_ = yield(nil, nil) && yield(chat.TextDelta{Text: "It"}, nil) &&
			yield(chat.MessageFinished{Status: chat.StatusCompleted, Text: "It"}, nil) && yield(chat.TurnFinished{}, nil)
	})
	const want = `data: {"type":"start","messageId":"m1"}` + "\n\n" + `data: {"type":"start-step"}` + "\n\n: keep-alive\n\n" +
		`data: {"type":"text-start","id":"1"}`
	if err != nil || !strings.HasPrefix(w.Body.String(), want) {
		t.Errorf("%v\n%s", err, w.Body)
	}
}
