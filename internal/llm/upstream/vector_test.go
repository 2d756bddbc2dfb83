package upstream

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

func TestVector_ReadsDecimalsAndBase64(t *testing.T) {
	for in, want := range map[string]Vector{
		`[1,-0.5,2.5e-1]`:                     {1, -0.5, 0.25},
		"[ 1 ,\n -0.5\t, 25E-2 ]":             {1, -0.5, 0.25},
		`"AACAPwAAAL8AAIA+"`:                  {1, -0.5, 0.25},
		`"AACAPwAAAL8AAIA\u002b"`:             {1, -0.5, 0.25},
		`[]`:                                  {},
		`[ ]`:                                 {},
		`""`:                                  {},
		`[0.1]`:                               {0.1},
		`[1e-60, 16777217]`:                   {0, 16777216},
		`"` + strings.Repeat("AAAA", 4) + `"`: {0, 0, 0},
	} {
		var got struct{ V Vector }
		if err := json.Unmarshal([]byte(`{"V":`+in+`}`), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		} else if diff := cmp.Diff(want, got.V); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func TestVector_RejectsWhatIsNone(t *testing.T) {
	for _, in := range []string{
		`null`, `7`, `{}`, `true`, `[null]`, `[1,null,2]`, `["1"]`, `[[1]]`, `[1,[2]]`, `[true]`, `[1e39]`, `[1,{"a":2,"b":3}]`,
		`"AAA="`, `"AAAA"`, `"not base64"`, `"AACAPw"`,
	} {
		var got struct{ V Vector }
		err := json.Unmarshal([]byte(`{"V":`+in+`}`), &got)
		if e, ok := errors.AsType[*llm.Error](UndecodableAnswer(err)); !ok || e.Retryable || !strings.Contains(e.Error(), "not usable") {
			t.Errorf("%s: %v, %v", in, got.V, err)
		}
	}
}

// FuzzVector compares Vector with encoding/json on input that both accept.
func FuzzVector(f *testing.F) {
	f.Add([]byte(`[1, -2.5e3,0.1]`))
	f.Add([]byte(`"AACAPwAAAL8="`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var got Vector
		var want []*float32
		err := json.Unmarshal(in, &got)
		if other := json.Unmarshal(in, &want); other != nil || want == nil {
			return // another form
		}
		for i, x := range want {
			if x == nil {
				if err == nil {
					t.Errorf("null was taken in %q", in)
				}
				return
			}
			if err == nil && (i >= len(got) || math.Float32bits(got[i]) != math.Float32bits(*x)) {
				t.Errorf("element %d of %q is %v, want %v", i, in, got, *x)
			}
		}
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	})
}

func TestInputUsage_TakesTheFirstNumberThatCanBe(t *testing.T) {
	for _, c := range []struct {
		numbers []json.Number
		want    int
	}{
		{nil, 0}, {[]json.Number{""}, 0}, {[]json.Number{"7", "9"}, 7}, {[]json.Number{"", "9"}, 9}, {[]json.Number{"0", "9"}, 9},
		{[]json.Number{"-7"}, 0}, {[]json.Number{"1e18"}, 0}, {[]json.Number{"1000000000000000000"}, 0}, {[]json.Number{"1.5"}, 0},
	} {
		if got := InputUsage(c.numbers...); got != (llm.Usage{Input: c.want}) {
			t.Errorf("%q: %+v, want %d", c.numbers, got, c.want)
		}
	}
}

func TestPrefixed_MarksTextsForModelsThatWereTrainedSo(t *testing.T) {
	for model, want := range map[string][2]string{
		"text-embedding-3-small":                  {"", ""},
		"bge-m3":                                  {"", ""},
		"nomic-embed-text":                        {"search_query: ", "search_document: "},
		"nomic-embed-text:v1.5":                   {"search_query: ", "search_document: "},
		"nomic-ai/nomic-embed-text-v1.5":          {"search_query: ", "search_document: "},
		"intfloat/multilingual-e5-large":          {"query: ", "passage: "},
		"Qwen/Qwen3-Embedding-0.6B":               {qwenQuery, ""},
		"intfloat/multilingual-e5-large-instruct": {qwenQuery, ""},
		"snowflake-arctic-embed:335m":             {searchQuery, ""},
		"snowflake-arctic-embed2":                 {"query: ", ""},
		"BAAI/bge-small-en-v1.5":                  {searchQuery, ""},
		"embeddinggemma:300m":                     {"task: search result | query: ", "title: none | text: "},
		"gemini-embedding-001":                    {"", ""},
		"gemini-embedding-2":                      {"task: search result | query: ", "title: none | text: "},
	} {
		texts := []string{"one", "two"}
		for i, purpose := range []llm.Purpose{llm.ForQuery, llm.ForDocument} {
			got := Prefixed(llm.EmbedRequest{Model: model, Texts: texts, Purpose: purpose})
			if diff := cmp.Diff([]string{want[i] + "one", want[i] + "two"}, got); diff != "" {
				t.Errorf("%s for a %s (-want +got):\n%s", model, purpose, diff)
			}
		}
		if texts[0] != "one" {
			t.Errorf("%s: the caller's texts were changed", model)
		}
	}
}

func BenchmarkVector_1536Dimensions(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, 4*1536)
	var decimals []string
	for i := range 1536 {
		x := float32(random.NormFloat64() / 40)
		bits := math.Float32bits(x)
		for j := range 4 {
			raw[4*i+j] = byte(bits >> (8 * j))
		}
		decimals = append(decimals, fmt.Sprint(x))
	}
	for name, in := range map[string]string{
		"base64": `"` + base64.StdEncoding.EncodeToString(raw) + `"`, "decimals": "[" + strings.Join(decimals, ",") + "]",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v Vector
				if err := json.Unmarshal([]byte(in), &v); err != nil || len(v) != 1536 {
					b.Fatal(len(v), err)
				}
			}
		})
	}
}
