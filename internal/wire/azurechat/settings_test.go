package azurechat

import (
	"fmt"
	"testing"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

func TestSettings_DescribeTheOverrides(t *testing.T) {
	usual := chat.Options{Top: 3, Mode: retrieval.Hybrid, Temperature: .3}
	for _, s := range Settings(usual) {
		if s.Title == "" || s.Help == "" {
			t.Errorf("%s is not explained", s.Name)
		}
		refuses := func(value string) bool {
			o := overrides{Options: usual}
			return o.set(s.Name, wire.Value(value)) != ""
		}
		if !refuses(`{}`) {
			t.Errorf("%s is no override: it takes an object", s.Name)
		}
		if refuses(literal(s.Default)) {
			t.Errorf("%s refuses its default %v", s.Name, s.Default)
		}
		switch s.Type {
		case wire.NumberSetting, wire.IntegerSetting:
			if refuses(fmt.Sprint(s.Min)) || refuses(fmt.Sprint(s.Max)) {
				t.Errorf("%s does not go from %v to %v", s.Name, s.Min, s.Max)
			}
		case wire.ChoiceSetting:
			for _, option := range s.Options {
				if refuses(literal(option)) {
					t.Errorf("%s refuses %q", s.Name, option)
				}
			}
		}
	}
}

func literal(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}
