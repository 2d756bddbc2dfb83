package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

type silent struct{ name string }

func (silent) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(func(llm.Chunk, error) bool) {}
}

func TestResolve_FindsTheProviderBeforeTheFirstColon(t *testing.T) {
	r := &llm.Router{Default: "a:small", Providers: map[string]llm.Model{"a": silent{"a"}, "b": silent{"b"}}}
	for _, c := range []struct{ key, provider, name string }{
		{"", "a", "small"},
		{"a:big", "a", "big"},
		{"b:org/model:7b", "b", "org/model:7b"},
	} {
		m, name, err := r.Resolve(c.key)
		if err != nil || name != c.name || m != (silent{c.provider}) {
			t.Errorf("Resolve(%q) = %v, %q, %v; want %s, %q", c.key, m, name, err, c.provider, c.name)
		}
	}
}

func TestResolve_ExplainsWhatIsWrongWithAKey(t *testing.T) {
	r := &llm.Router{
		Providers: map[string]llm.Model{"b": silent{}, "a": silent{}},
		Missing:   map[string]string{"openai": "set OPENAI_API_KEY"},
	}
	for key, want := range map[string]string{
		"gpt":                           "provider:model",
		"a:":                            "provider:model",
		":x":                            "provider:model",
		"":                              "provider:model",
		"a:x\ny":                        "provider:model",
		"a:" + strings.Repeat("x", 300): "provider:model",
		"c:x":                           "has the providers a, b.",
		"openai:x":                      "set OPENAI_API_KEY",
	} {
		_, _, err := r.Resolve(key)
		e, ok := errors.AsType[*llm.UnknownModelError](err)
		if !ok || !strings.Contains(e.Msg, want) {
			t.Errorf("Resolve(%.20q) error = %v, want %q in it", key, err, want)
			continue
		}
		if strings.Contains(e.Msg, "\n") || len(e.Msg) > 400 {
			t.Errorf("Resolve(%.20q): the sentence is not fit to be shown: %q", key, e.Msg)
		}
	}
}

func TestResolve_WrapsEachModelOnceForAStage(t *testing.T) {
	var uses []string
	r := &llm.Router{Default: "a:x", Providers: map[string]llm.Model{"a": silent{"bare"}}}
	r.Wrap = func(m llm.Model, stage, key string) llm.Model {
		uses = append(uses, stage+" "+key)
		return silent{"wrapped for " + stage}
	}
	for range 2 {
		if m, _, _ := r.Resolve(""); m != (silent{"wrapped for "}) {
			t.Errorf("model = %v, want the wrapped one", m)
		}
		if m, _, _ := r.ResolveFor("rewrite", "a:x"); m != (silent{"wrapped for rewrite"}) {
			t.Errorf("model = %v, want the one for its stage", m)
		}
	}
	if diff := cmp.Diff([]string{" a:x", "rewrite a:x"}, uses); diff != "" {
		t.Error(diff)
	}
}

// limited is an embedder with limits.
type limited struct{ lengths }

func (*limited) EmbedLimits(string) llm.EmbedLimits { return llm.EmbedLimits{Texts: 2} }

func TestResolve_FindsWhatEmbedsAndWhatReranks(t *testing.T) {
	inner, keys := &limited{}, []string(nil)
	r := &llm.Router{
		Embedders: map[string]llm.Embedder{"a": inner},
		Rerankers: map[string]llm.Reranker{"b": ranked(0.5)},
		WrapEmbedder: func(e llm.Embedder, key string) llm.Embedder {
			keys = append(keys, key)
			return embedder(e.Embed) // hides what e knows
		},
		WrapReranker: func(m llm.Reranker, key string) llm.Reranker {
			keys = append(keys, key)
			return m
		},
	}
	e, name, err := r.ResolveEmbedder("a:org/model:1")
	if err != nil || name != "org/model:1" {
		t.Fatalf("%q, %v", name, err)
	}
	out, err := e.Embed(t.Context(), llm.EmbedRequest{Model: name, Texts: texts(4)})
	if err != nil || len(out.Vectors) != 4 || len(inner.requests) != 2 {
		t.Errorf("%d vectors after %d calls, %v", len(out.Vectors), len(inner.requests), err)
	}
	m, name, err := r.ResolveReranker("b:small")
	if err != nil || name != "small" {
		t.Fatalf("%q, %v", name, err)
	}
	if _, err := m.Rerank(t.Context(), twoDocuments); err == nil {
		t.Error("one score for two documents was let past")
	}
	if diff := cmp.Diff([]string{"a:org/model:1", "b:small"}, keys); diff != "" {
		t.Error(diff)
	}
}

func TestResolve_ExplainsWhatAProviderCannotDo(t *testing.T) {
	both := struct {
		silent
		*lengths
	}{silent{}, &lengths{}}
	r := &llm.Router{
		Providers: map[string]llm.Model{"anthropic": silent{}, "openai": both},
		Embedders: map[string]llm.Embedder{"openai": both},
		Rerankers: map[string]llm.Reranker{"jina": ranked()},
		Missing:   map[string]string{"gemini": "set GEMINI_API_KEY"},
	}
	model := func(key string) error { _, _, err := r.Resolve(key); return err }
	embed := func(key string) error { _, _, err := r.ResolveEmbedder(key); return err }
	rerank := func(key string) error { _, _, err := r.ResolveReranker(key); return err }
	for name, c := range map[string]struct {
		resolve func(key string) error
		key     string
		want    string
	}{
		"a reranker asked to answer":    {model, "jina:x", `There is no model "jina:x": the provider jina has no models that answer; for that, this server has the providers anthropic, openai.`},
		"a provider without embeddings": {embed, "anthropic:x", "the provider anthropic has no embeddings; for that, this server has the providers openai."},
		"a reranker asked to embed":     {embed, "jina:x", "the provider jina has no embeddings"},
		"a model asked to rerank":       {rerank, "openai:x", "the provider openai does not rerank; for that, this server has the providers jina."},
		"nobody":                        {embed, "oracle:x", "this server has the providers openai."},
		"not configured":                {embed, "gemini:x", "set GEMINI_API_KEY"},
		"no key":                        {embed, "", "provider:model"},
		"no name":                       {rerank, "jina:", "provider:model"},
	} {
		err := c.resolve(c.key)
		if e, ok := errors.AsType[*llm.UnknownModelError](err); !ok || !strings.Contains(e.Msg, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	r.Rerankers = nil
	if err := rerank("openai:x"); err == nil || !strings.Contains(err.Error(), "this server has no provider for it") {
		t.Errorf("without any: %v", err)
	}
}

func TestResolve_ForgetsWhatClientsMadeUp(t *testing.T) {
	r := &llm.Router{Default: "a:x", Providers: map[string]llm.Model{"a": silent{"bare"}}}
	r.Wrap = func(m llm.Model, _, _ string) llm.Model { return m }
	for i := range 3000 {
		if _, _, err := r.Resolve(fmt.Sprintf("a:%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.Wrapped(); n > 1000 {
		t.Errorf("%d wrapped models are kept", n)
	}
}

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "健康保険": 4, "abcd健康": 3, "привет": 3} {
		if got := llm.EstimateTokens(text); got != want {
			t.Errorf("EstimateTokens(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"line feeds", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"carriage return and line feed", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"carriage returns", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\n", []string{"a", "b"}},
		{"no space", "data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{"several lines", "data: a\ndata: b\ndata\ndata:c\n\n", []string{"a\nb\n\nc"}},
		{"comments and other fields", ": hi\n\nevent: m\nid: 7\nretry: 1\nbogus\ndata: a\n:x\n\n", []string{"a"}},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}},
		{"no final blank line", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"no final line end", "data: a\n\ndata: b", []string{"a", "b"}},
		{"empty events", "\n\ndata:\n\ndata\n\n\ndata: a\n\n", []string{"a"}},
		{"a field that only begins like data", "database: x\n\ndata: a\n\n", []string{"a"}},
		{"longer than the buffer", "data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"at once":       strings.NewReader(c.in),
				"by bytes":      iotest.OneByteReader(strings.NewReader(c.in)),
				"EOF with data": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := events(src)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func events(src io.Reader) ([]string, error) {
	var got []string
	r := llm.NewEventReader(src)
	for {
		data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, string(data))
	}
}

func TestEventReader_DropsTheEventThatAReadErrorCut(t *testing.T) {
	cut := errors.New("cut")
	got, err := events(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(cut)))
	if !errors.Is(err, cut) || !cmp.Equal(got, []string{"a"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEventReader_LimitsLinesAndEvents(t *testing.T) {
	mib := strings.Repeat("x", 1<<20)
	for name, in := range map[string]io.Reader{
		"line":             strings.NewReader("data: " + mib + "\n\n"),
		"comment":          strings.NewReader(": " + mib),
		"event of lines":   strings.NewReader(strings.Repeat("data: "+mib[:1<<18]+"\n", 5) + "\n"),
		"line without end": io.LimitReader(endless{}, 64<<20),
	} {
		if _, err := events(in); !errors.Is(err, llm.ErrEventTooLarge) {
			t.Errorf("%s: error = %v, want ErrEventTooLarge", name, err)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestEventReader_GivesUpOnASourceThatReadsNothing(t *testing.T) {
	if _, err := events(stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error = %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func FuzzEventReader_DoesNotDependOnHowTheStreamIsCut(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata:b\rdata\n\n: c\n\ndata: d"))
	f.Add([]byte("\xef\xbb\xbfdata: a\r\r\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err1 := events(bytes.NewReader(in))
		bits, err2 := events(iotest.OneByteReader(bytes.NewReader(in)))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if diff := cmp.Diff(whole, bits); diff != "" {
			t.Error(diff)
		}
	})
}

func BenchmarkEventReader(b *testing.B) {
	event := []byte(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"tok "},"finish_reason":null}]}` + "\n\n")
	r := llm.NewEventReader(&repeated{event: event})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// repeated returns one event for each read, as a paced upstream does.
type repeated struct{ event []byte }

func (r *repeated) Read(b []byte) (int, error) { return copy(b, r.event), nil }
