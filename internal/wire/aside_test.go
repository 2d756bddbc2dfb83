package wire

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestSendAside_KeepsTheOrderOfLines(t *testing.T) {
	w := &flushing{ResponseRecorder: httptest.NewRecorder()}
	s := NDJSON(w, "x")
	going := make(chan bool)
	s.SendAside(func(line []byte) ([]byte, error) {
		<-going // the caller goes on while the line is made
		return append(line, `{"n":1}`...), nil
	})
	close(going)
	if err := s.Send(append(s.Line(), `{"n":2}`...)); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Body.String(), "{\"n\":1}\n{\"n\":2}\n"; got != want || w.flushes != 2 {
		t.Errorf("got %q in %d flushes", got, w.flushes)
	}
}

func TestSendAside_AnErrorCommitsNothingAndMeetsTheNextLine(t *testing.T) {
	unmade := errors.New("cannot be made")
	for name, render := range map[string]func([]byte) ([]byte, error){
		"an error":   func([]byte) ([]byte, error) { return nil, unmade },
		"a panic":    func([]byte) ([]byte, error) { panic(unmade) },
		"two lines":  func(line []byte) ([]byte, error) { return append(line, "{\n}"...), nil },
		"no flusher": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			s := NDJSON(w, "x")
			if render == nil {
				s = NDJSON(opaque{w}, "x")
				render = func(line []byte) ([]byte, error) { return append(line, "{}"...), nil }
			}
			s.SendAside(render)
			if begun := s.Begun(); begun != (name == "no flusher") {
				t.Errorf("begun: %v", begun)
			}
			err := s.Send(append(s.Line(), "{}"...))
			if err == nil || errors.Is(err, ErrClientGone) {
				t.Errorf("the next line: %v", err)
			}
			if closed := s.Close(); !errors.Is(closed, err) {
				t.Errorf("closed with %v", closed)
			}
		})
	}
}

func TestClose_WaitsForWhatIsSentAside(t *testing.T) {
	w := httptest.NewRecorder()
	s := NDJSON(w, "x")
	s.SendAside(func(line []byte) ([]byte, error) { return append(line, "{}"...), nil })
	if err := s.Close(); err != nil || w.Body.String() != "{}\n" {
		t.Errorf("%q, %v", w.Body, err)
	}
}

func TestSendWithNext_SharesTheFlushOfTheNextLine(t *testing.T) {
	w := &flushing{ResponseRecorder: httptest.NewRecorder()}
	s := NDJSON(w, "x")
	if err := s.SendWithNext(append(s.Line(), `{"n":1}`...)); err != nil {
		t.Fatal(err)
	}
	if err := s.SendSoon(append(s.Line(), `{"n":2}`...)); err != nil || s.waiting {
		t.Errorf("the next line waits: %v", err)
	}
	if got := w.Body.String(); got != "{\"n\":1}\n{\"n\":2}\n" || w.flushes == 0 || w.flushes > 2 {
		t.Errorf("%d flushes of %q", w.flushes, got)
	}
}

func TestSendWithNext_NeedsNoNextLine(t *testing.T) {
	received := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := NDJSON(w, "x")
		defer s.Close()
		if err := s.SendWithNext(append(s.Line(), "{}"...)); err != nil {
			t.Error(err)
		}
		<-received
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); line != "{}\n" {
		t.Errorf("got %q, %v", line, err)
	}
	received <- true
}
