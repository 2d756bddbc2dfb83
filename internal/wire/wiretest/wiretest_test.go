package wiretest

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/internal/chat"
)

func TestScript_ReadsEveryKindOfStep(t *testing.T) {
	got := Script(t, "include more.events\nwait 37ms\n\nerror rate_limited/7s Slow down.\npanic help\n")
	if len(got) != 4 || got[0].Event != (chat.TextDelta{ID: "m", Text: "It"}) || got[1].Wait != 37*time.Millisecond || got[3].Panics != "help" {
		t.Errorf("got %+v", got)
	}
	e, ok := errors.AsType[*chat.Error](got[2].Err)
	if !ok || e.Kind != chat.RateLimited || e.RetryAfter != 7*time.Second || e.Msg != "Slow down." || !strings.Contains(e.Err.Error(), "secret") {
		t.Errorf("got the error %+v", e)
	}
}

// A fixture test that cannot fail is worthless.
func TestFixture_ComparesEveryFile(t *testing.T) {
	const text = "prose\n-- request --\nr\n-- response --\nas is\n-- asked --\nnothing\n"
	cases := map[string]struct {
		got  map[string]string
		want string // beginning of the difference
	}{
		"all is well":        {map[string]string{"response": "as is\n", "asked": "nothing\n", "steps": "not in it"}, ""},
		"a response differs": {map[string]string{"response": "else\n", "asked": "nothing\n"}, "response (-want +got)"},
		"nothing reads it":   {map[string]string{"response": "as is\n"}, `nothing reads the file "asked"`},
		"a response more": {map[string]string{"response": "as is\n", "response 2": "x", "asked": "nothing\n"},
			`the fixture has no file "response 2"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := Fixture{archive: txtar.Parse([]byte(text)), read: map[string]bool{}}
			if f.Text("request") != "r\n" || f.Text("config") != "" {
				t.Error("the files are not read")
			}
			got := strings.Join(f.compare(c.got), "\n")
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRequest_IsAsAFixturePrintsIt(t *testing.T) {
	r := Request(t, "PUT /chat?x=1\nX-Test-User: ann\nAccept: a: b\n\n{\n\n}\n")
	if r.Method != http.MethodPut || r.URL.Path != "/chat" || r.URL.RawQuery != "x=1" || r.ContentLength != 5 ||
		r.Header.Get("X-Test-User") != "ann" || r.Header.Get("Accept") != "a: b" {
		t.Errorf("got %+v", r)
	}
}

func TestIDs_AreLikeULIDs(t *testing.T) {
	next := IDs()
	next()
	if id := next(); id != "01J00000000000000000000002" {
		t.Errorf("the second id is %s", id)
	}
}
