package cite

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONEscapes_LeaveTheValueAndHideNothing(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":"x\n\"\\ \u00e9 é"}`, `{"a":"x\n\"\\ \u00e9 é"}`},
		{`{"a":"\u0021\u005bi](https:\/\/e)"}`, `{"a":"![i](https://e)"}`},
		{`{"a":"\u003cimg\u0020src\u003D\u0022\u005c\u005C"}`, `{"a":"<img src=\u0022\u005c\u005C"}`},
		{`{"a":"\\u003c\\\u003c"}`, `{"a":"\\u003c\\<"}`},
		{`"\u003`, `"\u003`},
		{`"\`, `"\`},
	} {
		for _, deltas := range [][]string{{c.in}, strings.Split(c.in, "")} {
			e, got := jsonEscapes{}, ""
			for _, d := range deltas {
				got += e.add(d)
			}
			if got += e.end(); got != c.want {
				t.Errorf("%s: %s", c.in, got)
			}
		}
		var before, after any
		if json.Unmarshal([]byte(c.in), &before) == nil {
			if err := json.Unmarshal([]byte(c.want), &after); err != nil {
				t.Error(err)
			}
		}
	}
}
