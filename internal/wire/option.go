package wire

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"parley/internal/attribute"
	"parley/internal/chat"
)

// Option is the single definition of a request option: its range, its meaning and the field it sets. It has
// no name, because protocols name it differently; adapters map their names to options (Named).
type Option struct {
	Title   string // label in forms; "" if forms do not show it
	Help    string // one or two plain sentences
	Needs   string // the server capability it requires: vectors, rerank, vision, tools, web_search; "" for none
	Least   float64
	Most    float64 // of a number; for a text, its maximum length in bytes
	Choices []string
	Zero    float64 // stored in place of 0, for fields whose zero value means the default
	Not     bool    // the field holds the negation of the option

	field func(*chat.Options) any // returns a pointer to an int, float64, bool, string or *attribute.Condition
}

// leastTopP replaces a top_p of 0, because 0 would mean the provider's default. It is so small that only the
// likeliest token is sampled.
const leastTopP = 1e-6

// The options.
var (
	Top = Option{Title: "Passages", Help: "How many passages to retrieve for a question. More find more and cost more tokens.",
		Least: 1, Most: chat.MaxTop, field: func(o *chat.Options) any { return &o.Top }}
	Temperature = Option{Title: "Temperature", Help: "How freely the model words its answer: 0 sticks to the likeliest words.",
		Most: chat.MaxTemperature, field: func(o *chat.Options) any { return &o.Temperature }}
	TopP = Option{Title: "Top p", Help: "The model chooses among the likeliest words whose probabilities add up to this share. Lower is more predictable.",
		Most: 1, Zero: leastTopP, field: func(o *chat.Options) any { return &o.TopP }}
	MaxOutputTokens = Option{Title: "Longest answer", Help: "The most tokens of an answer; one token is about three quarters of a word.",
		Least: 1, Most: chat.MaxOutputTokens, field: func(o *chat.Options) any { return &o.MaxOutputTokens }}
	Effort = Option{Title: "Reasoning", Help: "How much a reasoning model thinks before it answers. Other models ignore it.",
		Choices: []string{"", "minimal", "low", "medium", "high"}, field: func(o *chat.Options) any { return &o.Effort }}
	Mode = Option{Title: "Search by", Help: "Words find what is written; meaning (vectors) also finds other wordings; both together find most.",
		Choices: []string{"hybrid", "text", "vectors"}, Needs: "vectors", field: func(o *chat.Options) any { return &o.Mode }}
	Rerank = Option{Title: "Rerank", Help: "Puts the retrieved passages in a better order.",
		field: func(o *chat.Options) any { return &o.Rerank }}
	Captions = Option{Title: "Captions", Help: "Marks the sentences of each passage that fit the question best.",
		field: func(o *chat.Options) any { return &o.Captions }}
	MinScore = Option{Title: "Minimum score", Help: "Passages that score lower are left out. 0 keeps all.",
		Most: 1, field: func(o *chat.Options) any { return &o.MinScore }}
	MinRerankScore = Option{Title: "Minimum score after reranking", Help: "Passages that score lower after reranking are left out. 0 keeps all.",
		Most: 1, field: func(o *chat.Options) any { return &o.MinRerankScore }}
	FollowUps = Option{Title: "Follow-up questions", Help: "Suggests what to ask next.",
		field: func(o *chat.Options) any { return &o.FollowUps }}
	IncludeCategory = Option{Title: "Only this category", Help: "Searches only documents of this category.",
		Most: chat.MaxNameBytes, field: func(o *chat.Options) any { return &o.IncludeCategory }}
	ExcludeCategory = Option{Title: "Without this category", Help: "Leaves out documents of this category.",
		Most: chat.MaxNameBytes, field: func(o *chat.Options) any { return &o.ExcludeCategory }}
	Where = Option{Help: "A filter on attributes of documents, in the form of OpenAI's file search: searches only documents that pass it.",
		field: func(o *chat.Options) any { return &o.Where }}
	PromptTemplate = Option{Title: "Instructions", Help: "Replaces the instructions to the model; with >>> in front it is added to them.",
		Most: chat.MaxTemplate, field: func(o *chat.Options) any { return &o.PromptTemplate }}
	Rewrite = Option{Title: "Rewrite questions", Help: "Rewrites a follow-up question so that it stands alone, to find the right passages.",
		Not: true, field: func(o *chat.Options) any { return &o.Rewrite.Off }}
	RewriteThreshold = Option{Title: "Rewrite confidence", Help: "A rewritten question is used only when the rewriter is at least this sure of it.",
		Most: 1, field: func(o *chat.Options) any { return &o.Rewrite.Threshold }}
	RewriteTurns = Option{Title: "Turns the rewriter sees in full", Help: "How many of the last turns the rewriter sees in full.",
		Most: chat.MaxTurns, Zero: chat.NoTurns, field: func(o *chat.Options) any { return &o.Rewrite.Turns }}
	RewriteGist = Option{Title: "Turns the rewriter sees shortened", Help: "How many turns before those the rewriter sees shortened.",
		Most: chat.MaxTurns, field: func(o *chat.Options) any { return &o.Rewrite.Gist }}
	Clarify = Option{Title: "Ask for clarification", Help: "When a question can mean several things, ask which one is meant instead of answering.",
		field: func(o *chat.Options) any { return &o.Rewrite.Clarify }}
	SummaryTurns = Option{Title: "Turns kept in full", Help: "How many of the last turns of a long conversation the model gets in full; older ones are summarized.",
		Most: chat.MaxTurns, Zero: chat.NoTurns, field: func(o *chat.Options) any { return &o.Summary.Turns }}
	SummaryInput = Option{Title: "Tokens summarized at once", Help: "The most tokens of the conversation that are summarized at once.",
		Least: 1, Most: chat.MaxSummaryInput, field: func(o *chat.Options) any { return &o.Summary.Input }}
	SummaryOutput = Option{Title: "Summary length", Help: "The most tokens of a summary.",
		Least: 1, Most: chat.MaxSummaryOutput, field: func(o *chat.Options) any { return &o.Summary.Output }}
	UseTools = Option{Title: "Use tools", Help: "The model may call the tools of this server, such as another search or a calculator.",
		Needs: "tools", field: func(o *chat.Options) any { return &o.UseTools }}
)

// Set sets the option to a value. It returns "", or a description of the valid values if v is not one. A whole
// number over the maximum is not an error; it is reduced to the maximum.
func (o *Option) Set(to *chat.Options, v Value) string { return o.set(to, v, false) }

// SetLoosely is like Set, but also accepts the values of HTML forms: booleans as words, and choices in
// any case.
func (o *Option) SetLoosely(to *chat.Options, v Value) string { return o.set(to, v, true) }

func (o *Option) set(to *chat.Options, v Value, loosely bool) string {
	field := reflect.ValueOf(o.field(to)).Elem()
	switch field.Kind() {
	case reflect.Bool:
		on, ok := v.Bool()
		if loosely {
			on, ok = v.Flag()
		}
		if !ok {
			return "true or false"
		}
		field.SetBool(on != o.Not)
	case reflect.Int:
		n, ok := v.Number()
		if !ok || n != math.Trunc(n) || n < o.Least {
			if o.Least == 1 {
				return "a whole number over 0"
			}
			return "a whole number, 0 or more"
		}
		field.SetInt(int64(o.zeroed(min(n, o.Most))))
	case reflect.Float64:
		n, ok := v.Number()
		if !ok || n < 0 || n > o.Most {
			return fmt.Sprintf("a number from 0 to %v", o.Most)
		}
		field.SetFloat(o.zeroed(n))
	case reflect.Pointer:
		c, wrong := FilterOf(v)
		if wrong != "" {
			return "a filter on attributes: " + strings.TrimSuffix(wrong, ".")
		}
		field.Set(reflect.ValueOf(c))
	default:
		return o.setText(field, v, loosely)
	}
	return ""
}

func (o *Option) zeroed(n float64) float64 {
	if n == 0 {
		return o.Zero
	}
	return n
}

func (o *Option) setText(field reflect.Value, v Value, loosely bool) string {
	text, ok := v.Text()
	switch {
	case o.Choices != nil:
		if loosely {
			text = strings.ToLower(strings.TrimSpace(text))
		}
		if !ok || !slices.Contains(o.Choices, text) {
			return oneOf(o.Choices)
		}
	case !ok:
		return "a string"
	case len(text) > int(o.Most):
		return fmt.Sprintf("at most %d bytes long", int(o.Most))
	}
	field.SetString(text)
	return ""
}

// oneOf formats words as "a", "b" or "c", without empty ones.
func oneOf(words []string) string {
	var quoted []string
	for _, w := range words {
		if w != "" {
			quoted = append(quoted, `"`+w+`"`)
		}
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// Value returns the value of the option as a request would set it.
func (o *Option) Value(of *chat.Options) any {
	field := reflect.ValueOf(o.field(of)).Elem()
	switch field.Kind() {
	case reflect.Bool:
		return field.Bool() != o.Not
	case reflect.Int:
		if n := int(field.Int()); o.Zero == 0 || n != int(o.Zero) {
			return n
		}
		return 0
	case reflect.Float64:
		if n := field.Float(); o.Zero == 0 || n != o.Zero {
			return n
		}
		return 0.0
	case reflect.Pointer:
		return field.Interface()
	}
	return field.String()
}

// Named is an option with its name in a protocol.
type Named struct {
	Name string
	Option
}

// PageOptions are the options with the names that JavaScript front ends use.
var PageOptions = []Named{
	{"temperature", Temperature}, {"topP", TopP}, {"maxOutputTokens", MaxOutputTokens}, {"reasoningEffort", Effort},
	{"top", Top}, {"retrievalMode", Mode}, {"rerank", Rerank}, {"includeCategory", IncludeCategory},
	{"excludeCategory", ExcludeCategory}, {"filter", Where}, {"filters", Where}, {"followUps", FollowUps}, {"useTools", UseTools},
}

// SetOptions sets the options that from has members for. A null leaves the option unchanged. The error names
// the member.
func SetOptions(to *chat.Options, from Object, named []Named) error {
	for key, v := range from.Members() {
		i := slices.IndexFunc(named, func(n Named) bool { return n.Name == key })
		if i < 0 || v.IsNull() {
			continue
		}
		if want := named[i].Set(to, v); want != "" {
			return Invalidf("%q must be %s", key, want)
		}
	}
	return nil
}

// Settings returns descriptions of the options that forms show, with their default values.
func Settings(named []Named, defaults chat.Options) []Setting {
	var all []Setting
	for _, n := range named {
		if n.Title != "" {
			all = append(all, n.setting(&defaults))
		}
	}
	return all
}

func (n *Named) setting(defaults *chat.Options) Setting {
	s := Setting{Name: n.Name, Title: n.Title, Help: n.Help, Needs: n.Needs, Default: n.Value(defaults), Options: []string{}}
	switch s.Default.(type) {
	case int:
		s.Type, s.Min, s.Max, s.Step = IntegerSetting, n.Least, n.Most, 1
	case float64:
		s.Type, s.Max, s.Step = NumberSetting, n.Most, 0.05
	case bool:
		s.Type = BooleanSetting
	default:
		if s.Type = TextSetting; n.Choices != nil {
			s.Type, s.Options = ChoiceSetting, n.Choices
		}
	}
	return s
}

// schema returns the schema of the option for /openapi.json.
func (n *Named) schema() object {
	s := object{"description": n.Help}
	if n.Help == "" {
		delete(s, "description")
	}
	switch n.Value(&chat.Options{}).(type) {
	case int:
		s["type"], s["minimum"] = []any{"integer", "string"}, n.Least
		s["description"] = fmt.Sprintf("%s At most %v; larger values are reduced to that.", n.Help, n.Most)
	case float64:
		s["type"], s["minimum"], s["maximum"] = []any{"number", "string"}, 0.0, n.Most
	case bool:
		s["type"] = []any{"boolean", "string"}
	case *attribute.Condition:
		s["type"] = "object"
		s["examples"] = []any{object{"type": "eq", "key": "tags", "value": "policy"}}
	default:
		s["type"] = "string"
		if n.Choices != nil {
			s["description"] = n.Help + " " + oneOf(n.Choices) + "."
		}
	}
	return s
}
