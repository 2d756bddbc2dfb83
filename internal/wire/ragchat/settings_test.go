package ragchat

import (
	"fmt"
	"slices"
	"testing"

	"parley/internal/wire"
)

// forPrograms are the parameters that no form shows. They tell who asks, in which namespace, and how a
// client uses the answer. The models of stages are chosen from lists.
var forPrograms = []string{
	"namespace", "active_domain", "model_keys", "query_id", "conversation_id", "user_id", "stream", "show_processing_steps", "documents",
}

func TestSettings_DescribeTheParameters(t *testing.T) {
	described := slices.Clone(forPrograms)
	for _, s := range Settings(DefaultDefaults()) {
		described = append(described, s.Name)
		if s.Title == "" || s.Help == "" {
			t.Errorf("%s is not explained", s.Name)
		}
		refuses := func(value string) bool { return (&exchange{}).set(s.Name, wire.Value(value)) != "" }
		if refuses(literal(s.Default)) {
			t.Errorf("%s refuses its default %v", s.Name, s.Default)
		}
		switch s.Type {
		case wire.NumberSetting:
			if refuses(fmt.Sprint(s.Max)) || !refuses(fmt.Sprint(s.Max+.1)) || !refuses("-0.1") {
				t.Errorf("%s does not go from 0 to %v", s.Name, s.Max)
			}
		case wire.IntegerSetting:
			if refuses(fmt.Sprint(s.Min)) || refuses(fmt.Sprint(s.Max)) || !refuses(fmt.Sprint(s.Min-1)) {
				t.Errorf("%s does not go from %v to %v", s.Name, s.Min, s.Max)
			}
		case wire.ChoiceSetting:
			for _, option := range s.Options {
				if refuses(literal(option)) {
					t.Errorf("%s refuses %q", s.Name, option)
				}
			}
			if !refuses(`"no such option"`) {
				t.Errorf("%s takes anything", s.Name)
			}
		}
	}
	for _, name := range ownParameters() {
		if !slices.Contains(described, name) {
			t.Errorf("the parameter %s is not described", name)
		}
	}
}

func literal(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}
