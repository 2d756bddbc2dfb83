package chatui

import "testing"

func TestSniffer_KnowsMarkdown(t *testing.T) {
	cases := map[string]bool{
		"":                            false,
		"Plain text, with [a.md].":    false,
		"Two * three is 6 - 1 # 2":    false,
		"It costs 5. Really.":         false,
		"1999. A year":                false,
		"a_b and c-d":                 false,
		"line\n-5 degrees":            false,
		"#hashtag":                    false,
		"- one":                       true,
		"one:\n* two":                 true,
		"one:\n  + two":               true,
		"1. one":                      true,
		"x\n12) two":                  true,
		"# Title":                     true,
		"x\n###### Six":               true,
		"####### Seven":               false,
		"a **b** c":                   true,
		"a __b__ c":                   true,
		"use `go test`":               true,
		"see [this](https://a.b)":     true,
		"| a | b |\n|---|---|":        true,
		"> quoted":                    true,
		"[a.md] (in brackets) [b.md]": false,
	}
	for text, want := range cases {
		for _, step := range []int{1, 2, 3, 7, 1000} {
			var s sniffer
			got := s.look("")
			for end := 0; end < len(text); {
				end = min(end+step, len(text))
				if now := s.look(text[:end]); got && !now {
					t.Errorf("%q was Markdown and is not any more", text[:end])
				} else {
					got = now
				}
			}
			if got != want {
				t.Errorf("%q in steps of %d: %v, want %v", text, step, got, want)
			}
		}
	}
}
