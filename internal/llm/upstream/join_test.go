package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

// plain decodes events that are plain text. "done" ends the stream, and "model" also names a model.
type plain struct{}

func (plain) Decode(event []byte) (c llm.Chunk, ok, done bool, err error) {
	switch text := string(event); text {
	case "done":
		return c, false, true, nil
	case "silent":
		return c, false, false, nil
	case "model":
		return llm.Chunk{Model: "m", Text: text}, true, false, nil
	case "broken":
		return c, false, false, &llm.Error{Err: errors.New("broken")}
	default:
		return llm.Chunk{Text: text}, true, false, nil
	}
}
func (plain) Progress() Progress { return Progress{} }
func (plain) Ended() error       { return Cut() }
func (plain) Last() llm.Chunk    { return llm.Chunk{FinishReason: "stop"} }

// Each part of the body comes only after the texts of the parts before it were passed on, so nothing may
// wait for more.
func TestStream_JoinsWhatCameAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		framing Framing
		whole   bool
		parts   []string
		want    []string
		broken  bool
	}{
		"each by itself":  {parts: []string{"data: a\n\ndata: b\n\ndata: done\n\n"}, want: []string{"a", "b", ""}},
		"at once":         {whole: true, parts: []string{"data: a\n\ndata: b\n\ndata: c\n\ndata: done\n\n"}, want: []string{"abc", ""}},
		"one by one":      {whole: true, parts: []string{"data: a\n\n", "data: b\n\n", "data: done\n\n"}, want: []string{"a", "b", ""}},
		"half an event":   {whole: true, parts: []string{"data: a\n\ndata: b\n\nda", "ta: c\n\ndata: done\n\n"}, want: []string{"ab", "c", ""}},
		"with a name":     {whole: true, parts: []string{"data: a\n\ndata: model\n\ndata: b\n\ndata: c\n\ndata: done\n\n"}, want: []string{"a", "model", "bc", ""}},
		"before an error": {whole: true, parts: []string{"data: a\n\ndata: b\n\ndata: broken\n\n"}, want: []string{"ab"}, broken: true},
		"before a cut":    {whole: true, parts: []string{"data: a\n\ndata: b\n\n: c\n\n"}, want: []string{"ab"}, broken: true},
		"named events":    {whole: true, parts: []string{"event: x\ndata: a\n\nevent: x\ndata: b\n\nevent: y\n\n", "data: c\n\ndata: done\n\n"}, want: []string{"ab", "c", ""}},
		"behind silence":  {whole: true, parts: []string{"data: a\n\ndata: silent\n\n", "data: done\n\n"}, want: []string{"a", ""}},
		"lines":           {framing: Lines, whole: true, parts: []string{"a\nb\n", "c\ndone\n"}, want: []string{"ab", "c", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			passed := make(chan struct{}, len(c.want)+1)
			server := httptest.NewServer(typed(c.framing.accept(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				for i, part := range c.parts {
					if i > 0 {
						select {
						case <-passed:
						case <-r.Context().Done():
							return
						}
					}
					_, _ = io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
				}
			})))
			defer server.Close()
			call := Call{URL: server.URL, Framing: c.framing, Decoder: plain{}, Whole: c.whole,
				Failure: func([]byte) *llm.Error { return &llm.Error{} }}
			var got []string
			var failed error
			for chunk, err := range NewClient(Config{}).Stream(t.Context(), func(c *Call) error { *c = call; return nil }) {
				if failed = err; err == nil {
					got = append(got, chunk.Text)
					passed <- struct{}{}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || (failed != nil) != c.broken {
				t.Errorf("error %v, texts (-want +got):\n%s", failed, diff)
			}
		})
	}
}

func typed(kind string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		next.ServeHTTP(w, r)
	})
}

func TestStream_AsksNobodyWhoLeftWithWhatItHolds(t *testing.T) {
	server := httptest.NewServer(typed("text/event-stream", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("data: a\n\n", 3)+"data: model\n\n"+strings.Repeat("data: b\n\n", 3))
	})))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := Call{URL: server.URL, Decoder: plain{}, Whole: true, Failure: func([]byte) *llm.Error { return &llm.Error{} }}
	for chunk, err := range NewClient(Config{}).Stream(ctx, func(c *Call) error { *c = call; return nil }) {
		if err != nil || chunk.Text != "aaa" {
			t.Fatalf("%q, %v", chunk.Text, err)
		}
		break // a further call of yield would panic
	}
}
