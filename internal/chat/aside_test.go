package chat

import (
	"fmt"
	"strings"
	"testing"
)

func TestAside_EndsAsItsFunctionDoes(t *testing.T) {
	ran := false
	aside(func() { ran = true })
	if !ran {
		t.Error("it did not wait")
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "broken") || !strings.Contains(p, "TestAside") {
			t.Errorf("the panic says %q, without its stack", p)
		}
	}()
	aside(func() { panic("broken") })
	t.Error("the panic got lost")
}
