package compose

import "testing"

func TestFontText_ShowsSignsAsTheirFontDoes(t *testing.T) {
	for _, c := range []struct{ font, text, want string }{
		{"Symbol", "\uf061\uf0b0 \uf0e5\uf0f2", "α° ∑∫"},
		{"symbol", "aW£", "αΩ≤"},
		{"Symbol", "~\uf0ee", "∼\uf0ee"},
		{"Wingdings", "\uf0fcA", "✓\uf041"},
		{"Arial", "a\uf061", "a\uf061"},
		{"", "(", "("},
	} {
		if got := FontText(c.font, c.text); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.font, c.text, got, c.want)
		}
	}
	if got := SignText("Symbol", "a\uf061"); got != "aα" {
		t.Errorf("among other text: %q", got)
	}
}
