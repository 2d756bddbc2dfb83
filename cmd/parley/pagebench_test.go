package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What a first load takes: bytes as they are sent, and the time until the largest part is painted.
func BenchmarkPage_Load(b *testing.B) {
	requirePage(b)
	p := serveForBench(b, "http://127.0.0.1:1")
	for b.Loop() {
		var got struct{ Bytes, Requests, Painted float64 }
		onPage(b, "bench", p, map[string]any{"kind": "load"}, &got)
		b.ReportMetric(got.Bytes/1024, "KB")
		b.ReportMetric(got.Requests, "requests")
		b.ReportMetric(got.Painted, "ms-painted")
	}
}

// Share of a core that a stream of 100 tokens a second takes in the page's thread.
func BenchmarkPage_Stream(b *testing.B) {
	requirePage(b)
	var words []string
	for i := range 2500 { // one word each: the page counts them
		switch {
		case i%60 == 59:
			words = append(words, "end.\n\n")
		case i%240 == 0:
			words = append(words, "\n\n- item ")
		default:
			words = append(words, "word ")
		}
	}
	m := startSlowModel(b, words, 10*time.Millisecond)
	p := serveForBench(b, m.URL)
	for b.Loop() {
		var got struct{ Words, Task, Process, Script, Layout, Seconds float64 }
		onPage(b, "bench", p, map[string]any{"kind": "stream", "question": "How tall is the lighthouse of Skagen?"}, &got)
		b.ReportMetric(100*got.Task, "%core")
		b.ReportMetric(100*got.Process, "%process")
		b.ReportMetric(100*got.Script, "%script")
		b.ReportMetric(100*got.Layout, "%layout")
		b.ReportMetric(got.Words, "words/s")
	}
}

// Time for each frame while scrolling through 2,000 messages.
func BenchmarkPage_Scroll(b *testing.B) {
	requirePage(b)
	p := serveForBench(b, "http://127.0.0.1:1")
	for b.Loop() {
		var got struct {
			First, All, Work, Longest float64
			Frames                    int
		}
		onPage(b, "bench", p, map[string]any{"kind": "scroll", "messages": 2000}, &got)
		b.ReportMetric(got.Work, "ms/frame")
		b.ReportMetric(got.Longest, "ms-longest")
		b.ReportMetric(got.First, "ms-first")
		b.ReportMetric(got.All, "ms-all")
	}
}

// What the page's thread does for one question in a conversation of 2,000 messages.
func BenchmarkPage_Ask(b *testing.B) {
	requirePage(b)
	m := startSlowModel(b, strings.SplitAfter("The lighthouse is 46 metres tall.", " "), 50*time.Millisecond)
	p := serveForBench(b, m.URL)
	for b.Loop() {
		var got struct{ Key, Ask, InPage float64 }
		onPage(b, "bench", p, map[string]any{"kind": "ask", "messages": 2000, "question": "How tall is the lighthouse of Skagen?"}, &got)
		b.ReportMetric(got.Ask, "s/question")
		b.ReportMetric(got.Key, "ms/key")
		b.ReportMetric(got.InPage, "messages")
	}
}

// serveForBench serves documents with a model and returns the address.
func serveForBench(b *testing.B, model string) string {
	b.Helper()
	addr, err := freeAddr()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(binary(b), "serve", "--addr", addr, "--data", b.TempDir(), "--model", "openai:test-model",
		"--stages-rewrite", "builtin:rules", "--stages-summary", "builtin:none", pageDocuments(b))
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+model+"/v1")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if err := awaitIngested(addr); err != nil {
		b.Fatal(err)
	}
	return addr
}
