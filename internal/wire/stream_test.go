package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStream_EachLineArrivesByItself(t *testing.T) {
	received := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := NDJSON(w, "application/json-lines")
		for _, line := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
			if err := s.Send(append(s.Line(), line...)); err != nil {
				t.Error(err)
			}
			<-received // the next line is written only after this one was read
		}
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for _, want := range []string{"{\"n\":1}\n", "{\"n\":2}\n", "{\"n\":3}\n"} {
		if line, err := lines.ReadString('\n'); line != want {
			t.Errorf("got %q, %v; want %q", line, err, want)
		}
		received <- true
	}
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("after the last line: %q, %v", rest, err)
	}
	for key, want := range map[string]string{
		"Content-Type": "application/json-lines", "X-Accel-Buffering": "no",
		"Cache-Control": "no-cache, no-transform", "Content-Length": "", "Content-Encoding": "",
	} {
		if got := response.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestStream_CommitsNothingBeforeTheFirstLine(t *testing.T) {
	w := httptest.NewRecorder()
	s := NDJSON(w, "application/json-lines")
	_ = s.Line()
	if s.Begun() || w.Header().Get("Content-Type") != "" {
		t.Error("the stream began by itself")
	}
	http.Error(w, "no", http.StatusTeapot)
	if w.Code != http.StatusTeapot {
		t.Errorf("status %d", w.Code)
	}
}

func TestStream_FramesEvents(t *testing.T) {
	w := httptest.NewRecorder()
	s := SSE(w)
	for _, line := range []string{`{"a":1}`, `{}`} {
		if err := s.Send(append(s.Line(), line...)); err != nil {
			t.Fatal(err)
		}
		if err := s.Comment("keep-alive"); err != nil {
			t.Fatal(err)
		}
	}
	want := "data: {\"a\":1}\n\n: keep-alive\n\ndata: {}\n\n: keep-alive\n\n"
	if got := w.Body.String(); got != want || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %q as %s", got, w.Header().Get("Content-Type"))
	}
}

// A late flush would wake the program once more for each line.
func TestStream_TwoLinesAreOneWrite(t *testing.T) {
	w := httptest.NewRecorder()
	s := NDJSON(w, "x")
	if err := s.SendSoon(append(s.And(append(s.Line(), "{}"...)), "[]"...)); err != nil || w.Body.String() != "{}\n[]\n" || s.late != nil {
		t.Errorf("got %q, %v, and a late flush: %v", w.Body, err, s.late != nil)
	}
	if err := s.Send(append(s.And(append(s.Line(), "{\n}"...)), "[]"...)); !errors.Is(err, errTwoLines) {
		t.Errorf("got %v", err)
	}
	w = httptest.NewRecorder()
	s = SSE(w)
	if err := s.Send(append(s.And(append(s.Line(), "{}"...)), "[]"...)); err != nil || w.Body.String() != "data: {}\n\ndata: []\n\n" {
		t.Errorf("got %q, %v", w.Body, err)
	}
}

func TestStream_RefusesALineThatWouldBeTwo(t *testing.T) {
	w := httptest.NewRecorder()
	s := NDJSON(w, "x")
	err := s.Send([]byte("{\n}"))
	if err == nil || errors.Is(err, ErrClientGone) || w.Body.Len() > 0 {
		t.Errorf("got %v and %q", err, w.Body)
	}
	if again := s.Send([]byte("{}")); !errors.Is(again, err) {
		t.Errorf("the first error is not final: %v", again)
	}
}

// opaque is a writer of a middleware that has no Unwrap method.
type opaque struct{ w http.ResponseWriter }

func (o opaque) Header() http.Header         { return o.w.Header() }
func (o opaque) Write(b []byte) (int, error) { return o.w.Write(b) }
func (o opaque) WriteHeader(status int)      { o.w.WriteHeader(status) }

func TestStream_FailsLoudlyWhenItCannotFlush(t *testing.T) {
	s := NDJSON(opaque{httptest.NewRecorder()}, "x")
	err := s.Send([]byte("{}"))
	if !errors.Is(err, http.ErrNotSupported) || errors.Is(err, ErrClientGone) {
		t.Errorf("got %v", err)
	}
}

func TestStream_DropsAClientThatTakesNothing(t *testing.T) {
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := NDJSON(w, "x")
		s.timeout = 50 * time.Millisecond
		line := strings.Repeat("x", 1<<20)
		for {
			if err := s.Send(append(s.Line(), line...)); err != nil {
				ended <- err
				return
			}
		}
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrClientGone) {
		t.Errorf("got %v", err)
	}
}

// counting is a writer that counts the calls that set its write deadline.
type counting struct {
	*httptest.ResponseRecorder
	deadlines int
}

func (c *counting) SetWriteDeadline(time.Time) error { c.deadlines++; return nil }

func TestStream_RenewsItsDeadlineOnceASecond(t *testing.T) {
	w := &counting{ResponseRecorder: httptest.NewRecorder()}
	s := NDJSON(w, "x")
	for range 100 {
		if err := s.Send(s.Line()); err != nil {
			t.Fatal(err)
		}
	}
	if w.deadlines != 1 {
		t.Errorf("set %d times for lines of one moment", w.deadlines)
	}
	s.renewed = s.renewed.Add(-renewEvery)
	if err := s.Send(s.Line()); err != nil || w.deadlines != 2 {
		t.Errorf("set %d times a second later: %v", w.deadlines, err)
	}
}

func TestStream_DoesNotKeepTheBufferOfAHugeLine(t *testing.T) {
	s := NDJSON(httptest.NewRecorder(), "x")
	if err := s.Send(append(s.Line(), strings.Repeat("x", 4*maxKept)...)); err != nil {
		t.Fatal(err)
	}
	if c := cap(s.Line()); c > maxKept {
		t.Errorf("kept %d bytes", c)
	}
}

// flushing is a writer that counts its flushes.
type flushing struct {
	*httptest.ResponseRecorder
	flushes int
	err     error // of the next flush
}

func (f *flushing) FlushError() error { f.flushes++; return f.err }

// broke returns a stream that never has credit for flushes.
func broke(w http.ResponseWriter) *Stream {
	s := NDJSON(w, "x")
	s.earned = time.Now().Add(time.Hour)
	return s
}

func TestStream_LinesOfABurstShareFlushes(t *testing.T) {
	w := &flushing{ResponseRecorder: httptest.NewRecorder()}
	s := broke(w)
	const lines = 500
	for range lines {
		if err := s.SendSoon(append(s.Line(), "{}"...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if w.flushes == 0 || w.flushes > lines/2 || w.Body.String() != strings.Repeat("{}\n", lines) {
		t.Errorf("%d flushes, %d bytes", w.flushes, w.Body.Len())
	}
}

func TestStream_FlushesAtOnceWhileThereIsCredit(t *testing.T) {
	w := &flushing{ResponseRecorder: httptest.NewRecorder()}
	s := NDJSON(w, "x")
	for range flushCredit {
		if err := s.SendSoon(append(s.Line(), "{}"...)); err != nil || s.waiting {
			t.Errorf("a line waits: %v", err)
		}
	}
	if w.flushes != flushCredit {
		t.Errorf("%d flushes", w.flushes)
	}
}

func TestStream_ALineThatWaitsNeedsNoOther(t *testing.T) {
	received := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := broke(w)
		defer s.Close()
		for range 3 {
			if err := s.SendSoon(append(s.Line(), "{}"...)); err != nil {
				t.Error(err)
			}
			<-received
		}
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for range 3 {
		if line, err := lines.ReadString('\n'); line != "{}\n" {
			t.Errorf("got %q, %v", line, err)
		}
		received <- true
	}
}

func TestStream_SendsWhatWaitsBeforeALineThatCannot(t *testing.T) {
	w := &flushing{ResponseRecorder: httptest.NewRecorder()}
	s := broke(w)
	for _, send := range []func([]byte) error{s.SendSoon, s.Send} {
		if err := send(append(s.Line(), "{}"...)); err != nil {
			t.Fatal(err)
		}
	}
	if s.waiting || w.flushes == 0 || w.Body.String() != "{}\n{}\n" {
		t.Errorf("%d flushes of %q", w.flushes, w.Body)
	}
}

func TestStream_AFlushThatFailsLateEndsTheStream(t *testing.T) {
	w := &flushing{ResponseRecorder: httptest.NewRecorder(), err: io.ErrClosedPipe}
	s := broke(w)
	if err := s.SendSoon(append(s.Line(), "{}"...)); err != nil {
		t.Fatal(err)
	}
	s.flushLate()
	if err := s.SendSoon(append(s.Line(), "{}"...)); !errors.Is(err, ErrClientGone) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrClientGone) {
		t.Errorf("closed with %v", err)
	}
}
