package chat

import (
	"testing"

	"parley/internal/text/texttest"
)

func TestRewriting_IsReadInTimeInProportionToTheReply(t *testing.T) {
	for _, s := range texttest.Shapes {
		t.Run(s.Name, func(t *testing.T) { texttest.Linear(t, s, 8<<10, func(s string) { _, _ = parseRewriting(s) }) })
	}
}
