package hardening

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// numeric says where the protocols of a prefix have numbers. In place, %s stands for the members.
type numeric struct {
	protocols string
	place     string
	names     []string // fractions
	whole     []string
	below     []string // of these, those that may be below 0
}

var numerics = []numeric{
	{"azure-0", `"context":{"overrides":{%s}}`, []string{"temperature", "minimum_search_score", "minimum_reranker_score"}, []string{"top"}, []string{"minimum_reranker_score", "top"}},
	{"ask", `"context":{"overrides":{%s}}`, []string{"temperature"}, []string{"top"}, []string{"top"}},
	{"later sample", `"context":{"overrides":{%s}}`, []string{"temperature", "minimum_search_score"}, []string{"top"}, []string{"top"}},
	{"SDK", `"context":{"overrides":{%s}}`, []string{"temperature"}, []string{"top"}, []string{"top"}},
	{"OpenAI", `%s`, []string{"temperature", "top_p", "presence_penalty", "frequency_penalty"}, []string{"max_tokens", "n", "seed"},
		[]string{"presence_penalty", "frequency_penalty", "seed"}},
	{"Responses", `%s`, []string{"temperature", "top_p"}, []string{"max_output_tokens", "max_tool_calls", "top_logprobs"}, nil},
	{"ragchat", `"params":{%s}`, []string{"temperature", "top_p", "score_threshold", "rewrite_confidence_threshold", "minimum_reranker_score"},
		[]string{"top_k", "max_output_tokens", "rewrite_tail_turns", "rewrite_summary_turns", "raw_tail_turns", "summarizer_max_input_tokens", "summarizer_max_output_tokens"}, nil},
	{"AI SDK", `%s`, []string{"temperature", "topP"}, []string{"top", "maxOutputTokens"}, nil},
	{"AG-UI", `"forwardedProps":{"parley":{%s}}`, []string{"temperature", "topP"}, []string{"top", "maxOutputTokens"}, nil},
	{"On Your Data", `%s`, []string{"temperature", "top_p"}, []string{"max_tokens"}, nil},
	{"data sources", `%s`, []string{"temperature", "top_p"}, []string{"max_tokens"}, nil},
	{"data sources", `"data_sources":[{"type":"azure_search","parameters":{%s}}]`, nil, []string{"top_n_documents", "strictness"}, nil},
}

// A number that a member cannot have is refused in the protocol's own shape, before anything is sent. One that is only
// larger than needed, or null, is never the server's fault.
func TestProtocols_RefuseNumbersThatAMemberCannotHave(t *testing.T) {
	s := newStack(t, options{})
	bad := []string{"1e999", "-1e999", strings.Repeat("9", 400), "-1", `"x"`, `"NaN"`, `"1e999"`, "NaN", "Infinity", "true", "[]", "{}"}
	for _, p := range protocols {
		if p.kind != "" || strings.HasPrefix(p.name, "chatui") {
			continue // the same reader with another framing; and a protocol without numbers
		}
		for _, n := range numerics {
			if !strings.HasPrefix(p.name, n.protocols) {
				continue
			}
			for _, name := range slices.Concat(n.names, n.whole) {
				values := slices.DeleteFunc(slices.Clone(bad), func(v string) bool { return v == "-1" && slices.Contains(n.below, name) })
				if slices.Contains(n.whole, name) {
					values = append(values, "0.5", "-0.5", "1e-3")
				}
				for _, value := range values {
					s.refuses(t, p.with(n.place, name, value))
				}
				for _, value := range []string{"null", "12345678901234567890", "1e30"} {
					if out, err := s.ask(t.Context(), p.with(n.place, name, value)); err != nil || out.status >= 500 {
						t.Errorf("%s: %s=%s: %d, %v: %.200s", p.name, name, value, out.status, err, out.body)
					}
				}
			}
		}
	}
}

// refuses asks what must be refused.
func (s *stack) refuses(t *testing.T, p protocol) {
	t.Helper()
	if out, err := s.ask(t.Context(), p); err != nil || out.status != 400 && out.status != 422 || !out.failed {
		t.Errorf("%s: %s: %d, %v: %.200s", p.name, p.body, out.status, err, out.body)
	}
}

// with returns the protocol's request with one more number.
func (p protocol) with(place, name, value string) protocol {
	more := fmt.Sprintf(place, fmt.Sprintf("%q:%s", name, value))
	switch i := strings.Index(p.body, `"params":{`); {
	case i >= 0 && strings.HasPrefix(place, `"params"`):
		p.body = p.body[:i] + fmt.Sprintf(`"params":{%q:%s,`, name, value) + p.body[i+len(`"params":{`):]
	case strings.Contains(p.body, `"context":{"overrides":{`):
		p.body = strings.Replace(p.body, `"overrides":{`, fmt.Sprintf(`"overrides":{%q:%s,`, name, value), 1)
	default:
		if strings.HasPrefix(place, `"data_sources"`) {
			p.body = strings.Replace(p.body, sources, "", 1)
		}
		p.body = strings.TrimSuffix(p.body, "}") + "," + more + "}"
	}
	return p
}
