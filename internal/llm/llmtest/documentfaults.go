package llmtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

// DocumentWants returns the expected result for each of DocumentFaults, and for "none".
func DocumentWants() map[string]Want {
	failed := func(says string) Want { return Want{Err: &llm.Error{Retryable: true}, Says: says} }
	silent := Want{Err: &llm.Error{Retryable: true, Silent: true}, Says: "in time"}
	wants := map[string]Want{
		"none": {}, "odd": {}, "controls": {}, "usage": {}, "absurd": {}, "enormous": {}, "nousage": {},
		"html": failed("text/html"), "badjson": failed("decode answer"), "hang": silent,
		"reset": failed("request answer"), "empty": failed("decode answer"), "cut": failed("read answer"),
		"eof": failed("decode answer"), "stall": silent,
		"never": {Err: &llm.Error{}, Says: "bytes"},
	}
	same := Wants(nil)
	for _, fault := range []string{"400", "401", "404", "429", "500", "503", "redirect", "jsonerror"} {
		wants[fault] = same[fault]
	}
	jsonError := wants["jsonerror"]
	jsonError.Says = "quota [redacted]"
	wants["jsonerror"] = jsonError
	for _, fault := range []string{"few", "many", "length", "null", "infinite", "zero", "twice", "range", "nothing"} {
		wants[fault] = Want{Err: &llm.Error{}, Says: "not usable"}
	}
	return wants
}

// With returns a copy of wants with changes.
func With(wants, changes map[string]Want) map[string]Want {
	all := maps.Clone(wants)
	maps.Copy(all, changes)
	return all
}

// reply is the result of a call without a stream.
type reply struct {
	Numbers [][]float64
	Usage   llm.Usage
	model   string
	err     error
}

// Unindexed returns the changes for protocols whose answers have no indexes.
func Unindexed() map[string]Want { return map[string]Want{"twice": {}, "range": {}} }

// RunEmbedFaults asks an embedder for vectors under every fault and compares the results. open returns
// the provider for an upstream at url, with "test-key" as its key. If short is true, all its time limits
// are 500 ms.
func RunEmbedFaults(t *testing.T, d Dialect, wants map[string]Want, open func(t *testing.T, url string, short bool) llm.Embedder) {
	req := llm.EmbedRequest{Texts: []string{"a text", "another one", "the last"}, Purpose: llm.ForDocument}
	right := reply{
		Numbers: [][]float64{{1, -0.5, 0.25}, {2, -0.5, 0.25}, {3, -0.5, 0.25}},
		Usage:   llm.Usage{Input: 30},
	}
	ask := func(ctx context.Context, url string, fault string, short bool) (r reply) {
		req.Model = fault
		out, err := llm.Batched(open(t, url, short), llm.BatchOptions{}).Embed(ctx, req)
		r = reply{Usage: out.Usage, model: out.Model, err: err}
		for _, v := range out.Vectors {
			var numbers []float64
			for _, x := range v {
				numbers = append(numbers, float64(x))
			}
			r.Numbers = append(r.Numbers, numbers)
		}
		return r
	}
	estimate := func(string) llm.Usage { return llm.EmbedUsage(req, llm.Usage{}) }
	runDocumentFaults(t, d, wants, right, estimate, ask)
}

// RunRerankFaults does the same as RunEmbedFaults for a reranker.
func RunRerankFaults(t *testing.T, d Dialect, wants map[string]Want, open func(t *testing.T, url string, short bool) llm.Reranker) {
	req := llm.RerankRequest{Documents: []string{"a text", "another one", "the last"}}
	right := reply{Numbers: [][]float64{{1, 1 / 2.0, 1 / 3.0}}, Usage: llm.Usage{Input: 30}}
	ask := func(ctx context.Context, url string, fault string, short bool) reply {
		req.Model, req.Query = fault, fault
		out, err := llm.CheckedReranker(open(t, url, short)).Rerank(ctx, req)
		r := reply{Usage: out.Usage, model: out.Model, err: err}
		if out.Scores != nil {
			r.Numbers = [][]float64{out.Scores}
		}
		return r
	}
	estimate := func(fault string) llm.Usage {
		return llm.RerankUsage(llm.RerankRequest{Query: fault, Documents: req.Documents}, llm.Usage{})
	}
	runDocumentFaults(t, d, wants, right, estimate, ask)
}

func runDocumentFaults(t *testing.T, d Dialect, wants map[string]Want, right reply, estimate func(fault string) llm.Usage,
	ask func(ctx context.Context, url, fault string, short bool) reply) {
	for _, f := range DocumentFaults {
		if _, ok := wants[f]; !ok {
			t.Errorf("no expectation for the fault %s", f)
		}
	}
	up := NewUpstreamFor(t, d)
	for fault, want := range wants {
		t.Run(fault, func(t *testing.T) {
			got := ask(t.Context(), up.URL, fault, fault == "hang" || fault == "stall")
			checkError(t, want, got.err)
			if want.Err != nil {
				if got.Numbers != nil {
					t.Errorf("an answer came with the error: %v", got.Numbers)
				}
				return
			}
			expected := right
			if d.silent || slices.Contains([]string{"usage", "absurd", "enormous", "nousage"}, fault) {
				expected.Usage = estimate(fault)
			}
			if diff := cmp.Diff(expected, got, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.model != "stub-1" && got.model != "" {
				t.Errorf("model = %q", got.model)
			}
		})
	}
	t.Run("the caller leaves", func(t *testing.T) {
		up := NewUpstreamFor(t, d)
		for _, fault := range []string{"hang", "stall"} {
			ctx, cancel := context.WithCancel(t.Context())
			calls := up.Calls()
			go func() { // ends with ctx
				for up.Calls() == calls && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(50 * time.Millisecond) // half of the answer is read
				cancel()
			}()
			if got := ask(ctx, up.URL, fault, false); !errors.Is(got.err, context.Canceled) {
				t.Errorf("%s: error = %v", fault, got.err)
			}
			<-up.Aborted()
			cancel()
		}
	})
}

func unexported(p cmp.Path) bool {
	name := p.Last().String()
	return name == ".model" || name == ".err"
}
