package wire

import (
	"fmt"
	"reflect"
	"testing"

	"parley/internal/chat"
)

// all has all options by their names in this package.
var all = map[string]Option{
	"Top": Top, "Temperature": Temperature, "TopP": TopP, "MaxOutputTokens": MaxOutputTokens, "Effort": Effort, "Mode": Mode,
	"Rerank": Rerank, "Captions": Captions, "MinScore": MinScore, "MinRerankScore": MinRerankScore, "FollowUps": FollowUps,
	"IncludeCategory": IncludeCategory, "ExcludeCategory": ExcludeCategory, "PromptTemplate": PromptTemplate, "Rewrite": Rewrite,
	"RewriteThreshold": RewriteThreshold, "RewriteTurns": RewriteTurns, "RewriteGist": RewriteGist, "Clarify": Clarify,
	"SummaryTurns": SummaryTurns, "SummaryInput": SummaryInput, "SummaryOutput": SummaryOutput, "UseTools": UseTools,
}

// A setting of a request can be read back, each option has a field of its own, and every limit is the
// engine's.
func TestOption_TakesItsRangeAndGivesItBack(t *testing.T) {
	fields := map[any]string{}
	var o chat.Options
	for name, option := range all {
		if other, twice := fields[option.field(&o)]; twice {
			t.Errorf("%s and %s set the same", name, other)
		}
		fields[option.field(&o)] = name
		for _, value := range valuesOf(option) {
			var to chat.Options
			if want := option.Set(&to, Value(literal(value))); want != "" {
				t.Errorf("%s = %v must be %s", name, value, want)
			}
			if got := option.Value(&to); !reflect.DeepEqual(got, value) {
				t.Errorf("%s is %v after %v", name, got, value)
			}
		}
		for _, wrong := range []string{`{}`, `[]`, `-1`, `"magic"`} {
			if _, text := option.Value(&o).(string); text && option.Choices == nil && wrong == `"magic"` {
				continue
			}
			if option.Set(&chat.Options{}, Value(wrong)) == "" {
				t.Errorf("%s takes %s", name, wrong)
			}
		}
	}
}

func TestOption_SaysThatAWholeNumberMustNotBeNegative(t *testing.T) {
	if want := RewriteGist.Set(&chat.Options{}, Value("-1")); want != "a whole number, 0 or more" {
		t.Errorf("-1 must be %s", want)
	}
}

func valuesOf(o Option) []any {
	switch o.Value(&chat.Options{}).(type) {
	case int:
		return []any{int(o.Least), int(o.Most)}
	case float64:
		return []any{o.Least, o.Most}
	case bool:
		return []any{true, false}
	}
	if o.Choices == nil {
		return []any{"", "a text"}
	}
	var values []any
	for _, c := range o.Choices {
		values = append(values, c)
	}
	return values
}

func literal(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}
