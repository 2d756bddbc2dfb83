package lazyregexp_test

import (
	"testing"

	"parley/internal/lazyregexp"
)

func TestRegexp_Matches(t *testing.T) {
	digits := lazyregexp.New(`(\d)(\d)`)
	if got := digits.ReplaceAllString("tel. 12, 34", "$2$1"); got != "tel. 21, 43" {
		t.Errorf("got %q", got)
	}
	if got := digits.String(); got != `(\d)(\d)` {
		t.Errorf("String returned %q", got)
	}
}

func TestNew_PanicsInATestIfTheExpressionIsNotValid(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an expression that does not compile was accepted")
		}
	}()
	lazyregexp.New(`(`)
}
