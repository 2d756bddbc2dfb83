package llmtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

// Completion is a stream put together.
type Completion struct {
	Text, Reasoning, Model, Finish string
	Usage                          *llm.Usage
	Vendor                         llm.Vendor
	Calls                          []llm.ToolCall
	Chunks                         int
	Err                            error
}

// Ask makes a completion and returns its result. Model is the model of the first chunk.
func Ask(ctx context.Context, m llm.Model, req llm.Request) (c Completion) {
	for chunk, err := range m.Stream(ctx, req) {
		if err != nil {
			c.Err = err
			return c
		}
		if c.Chunks == 0 {
			c.Model = chunk.Model
		}
		c.Chunks++
		c.Text += chunk.Text
		c.Reasoning += chunk.Reasoning
		c.Calls = append(c.Calls, chunk.ToolCalls...)
		if chunk.FinishReason != "" {
			c.Finish = chunk.FinishReason
		}
		if chunk.Usage != nil {
			c.Usage = chunk.Usage
		}
		if chunk.Vendor != nil {
			c.Vendor = *chunk.Vendor
		}
	}
	return c
}

// HTTPClient returns a client that leaves no connection behind and follows no redirects.
func HTTPClient(t testing.TB) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Question is a short request that asks a model for at most 100 tokens.
func Question(model string) llm.Request {
	return llm.Request{
		Model:           model,
		Messages:        []llm.Message{llm.Text(llm.System, "be brief"), llm.Text(llm.User, "hi <there>")},
		Temperature:     0.5,
		MaxOutputTokens: 100,
	}
}

// Want is the expected result under a fault.
type Want struct {
	Text, Finish string
	Usage        *llm.Usage
	Err          *llm.Error // nil for an answer; its Err is not compared
	Says         string     // in the error's text
}

const (
	half = "tok0 tok1 tok2 tok3 tok4 "
	full = half + "tok5 tok6 tok7 tok8 tok9 "
)

// Reported is the usage that upstreams report, unless the fault changes it.
var Reported = &llm.Usage{Input: 12, Output: 10, Cached: 4, Reasoning: 1}

// Wants returns the expected result under each fault, and under "none", of an upstream that reports
// usage.
func Wants(usage *llm.Usage) map[string]Want {
	estimated := &llm.Usage{Input: 13, Output: 13, Estimated: true}
	answer := Want{Text: full, Finish: "stop", Usage: usage}
	guess := Want{Text: full, Finish: "stop", Usage: estimated}
	failed := func(text, says string) Want {
		return Want{Text: text, Err: &llm.Error{Retryable: true}, Says: says}
	}
	silent := func(text string) Want {
		return Want{Text: text, Err: &llm.Error{Retryable: true, Silent: true}, Says: "in time"}
	}
	refused := func(status int, says string) Want { return Want{Err: &llm.Error{Status: status}, Says: says} }
	return map[string]Want{
		"none": answer, "nodone": answer, "nofinish": answer, "controls": answer, "usage": guess, "nousage": guess,
		"odd":      {Text: half + "odd tok5 tok6 tok7 tok8 tok9 ", Finish: "stop", Usage: usage},
		"split":    {Text: half + "split tok5 tok6 tok7 tok8 tok9 ", Finish: "stop", Usage: usage},
		"filtered": {Text: full, Finish: "content_filter", Usage: usage},
		"400":      refused(400, "status 400"), "401": refused(401, "status 401"), "404": refused(404, "status 404"),
		"redirect":  refused(307, "status 307"),
		"filter":    {Err: &llm.Error{Status: 400, Filtered: true}, Says: "status 400"},
		"429":       {Err: &llm.Error{Status: 429, Retryable: true, RetryAfter: 7 * time.Second}, Says: "status 429"},
		"500":       {Err: &llm.Error{Status: 500, Retryable: true}, Says: "status 500"},
		"503":       {Err: &llm.Error{Status: 503, Retryable: true, RetryAfter: 7 * time.Second}, Says: "status 503"},
		"jsonerror": {Err: &llm.Error{Status: 429, Retryable: true}, Says: "application/json"},
		"html":      failed("", "text/html"), "badjson": failed("", "application/json"), "hang": silent(""),
		"reset": failed("", "request completion"), "empty": failed("", "cut off"),
		"cut": failed(half, "read completion"), "eof": failed(half, "cut off"), "garbage": failed(half, "decode event"),
		"errchunk": failed(half, "server error [redacted]"), "stall": silent(half),
		"huge":  {Text: half, Err: &llm.Error{}, Says: "1 MiB"},
		"never": {Err: &llm.Error{}, Says: "longer than the request allows"},
	}
}

// RunFaults asks a provider for a completion under every fault and compares the results. open returns
// the provider for an upstream at url, with "test-key" as its key. If short is true, all its time limits
// are 500 ms.
func RunFaults(t *testing.T, d Dialect, wants map[string]Want, open func(t *testing.T, url string, short bool) llm.Model) {
	for _, f := range Faults {
		if _, ok := wants[f]; !ok {
			t.Errorf("no expectation for the fault %s", f)
		}
	}
	up := NewUpstreamFor(t, d)
	for fault, want := range wants {
		t.Run(fault, func(t *testing.T) {
			got := Ask(t.Context(), open(t, up.URL, fault == "hang" || fault == "stall"), Question(fault))
			checkError(t, want, got.Err)
			if fault == "never" {
				if len(got.Text) > 100*32 {
					t.Errorf("got %d bytes for 100 tokens", len(got.Text))
				}
				return
			}
			if got.Text != want.Text || got.Finish != want.Finish {
				t.Errorf("got %q, finish %q; want %q, %q", got.Text, got.Finish, want.Text, want.Finish)
			}
			if diff := cmp.Diff(want.Usage, got.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if got.Chunks > 0 && got.Model != "stub-1" {
				t.Errorf("model = %q on the first chunk", got.Model)
			}
		})
	}
}

func checkError(t *testing.T, want Want, err error) {
	t.Helper()
	if want.Err == nil {
		if err != nil {
			t.Fatalf("error = %v", err)
		}
		return
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("error = %v, want an llm.Error", err)
	}
	if !strings.Contains(e.Error(), want.Says) {
		t.Errorf("error = %q, want %q in it", e, want.Says)
	}
	for _, key := range []string{"canary", "test-key", Key} {
		if strings.Contains(fmt.Sprintf("%v %+v", e, *e), key) {
			t.Errorf("the error holds %q: %v", key, e)
		}
	}
	bare := *e
	bare.Err = nil
	if diff := cmp.Diff(*want.Err, bare); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// RunCancel breaks out of a provider's endless stream, and also cancels its context. It expects the
// upstream to notice both.
func RunCancel(t *testing.T, d Dialect, open func(t *testing.T, url string, short bool) llm.Model) {
	up := NewUpstreamFor(t, d)
	p := open(t, up.URL, false)
	req := Question("never")
	req.MaxOutputTokens = 1 << 20
	for _, err := range p.Stream(t.Context(), req) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	<-up.Aborted()
	for _, fault := range []string{"never", "stall"} {
		req.Model = fault
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		var last error
		for _, err := range p.Stream(ctx, req) {
			if n++; n == 5 {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) || n > 7 {
			t.Errorf("%s: %d chunks, then %v; want the context's error", fault, n, last)
		}
		<-up.Aborted()
		cancel()
	}
}
