package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/fetch"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func named(name string, run func(context.Context, Call) (Result, error)) Tool {
	return Tool{Tool: llm.Tool{Name: name}, Run: run}
}

func says(text string) func(context.Context, Call) (Result, error) {
	return func(context.Context, Call) (Result, error) { return Result{Text: text}, nil }
}

func registry(t *testing.T, opts Options, tools ...Tool) *Registry {
	t.Helper()
	r, err := NewRegistry(tools, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var inDefault = retrieval.Filter{Namespace: "default", Principal: access.Anonymous}

func TestRegistry_OffersAndRunsOnlyWhatTheListsAllow(t *testing.T) {
	r := registry(t, Options{
		Namespaces: map[string][]string{"hr": {"a", "b"}, "none": {}},
	}, named("c", says("C")), named("a", says("A")), named("b", says("B")))
	for _, c := range []struct{ namespace, want string }{
		{"default", "a b c"}, {"hr", "a b"}, {"none", ""},
	} {
		var names []string
		for _, tool := range r.Offer(c.namespace) {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: offered %q, want %q", c.namespace, got, c.want)
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			res, err := r.Call(t.Context(), retrieval.Filter{Namespace: c.namespace}, llm.ToolCall{Name: name})
			allowed := strings.Contains(c.want, name)
			if allowed != (err == nil) || allowed && res.Text != strings.ToUpper(name) || !allowed && !errors.Is(err, ErrUnknown) {
				t.Errorf("%s: %s gave %q, %v", c.namespace, name, res.Text, err)
			}
		}
	}
}

func TestRegistry_RefusesWhatCanNotBeMeant(t *testing.T) {
	for name, c := range map[string]struct {
		tools []Tool
		opts  Options
	}{
		"twice":     {[]Tool{named("a", nil), named("a", nil)}, Options{}},
		"name":      {[]Tool{named("a b", nil)}, Options{}},
		"no name":   {[]Tool{named("", nil)}, Options{}},
		"namespace": {[]Tool{named("a", nil)}, Options{Namespaces: map[string][]string{"x": {"b"}}}},
	} {
		if _, err := NewRegistry(c.tools, c.opts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRegistry_TellsTheModelOfAFailureWithoutInternalText(t *testing.T) {
	hangs := named("hangs", func(ctx context.Context, _ Call) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() })
	hangs.Timeout = 20 * time.Millisecond
	r := registry(t, Options{MaxBytes: 100, MaxArgs: 50},
		named("internal", func(context.Context, Call) (Result, error) { return Result{Text: "x"}, errors.New("secret path") }),
		named("told", func(context.Context, Call) (Result, error) {
			return Result{}, &Error{Msg: "No such city.", Err: errors.New("secret")}
		}),
		named("panics", func(context.Context, Call) (Result, error) { panic("secret") }),
		hangs,
		named("long", says(strings.Repeat("ä", 100))),
		named("broken", says("a\xffb")),
	)
	for name, want := range map[string]string{
		"internal": "The tool failed.", "told": "No such city.", "panics": "The tool failed.",
		"hangs": "The tool did not answer within 20ms.", "long": strings.Repeat("ä", 42) + clipped, "broken": "a\uFFFDb",
	} {
		res, err := r.Call(t.Context(), inDefault, llm.ToolCall{Name: name})
		if res.Text != want || len(res.Text) > 100 {
			t.Errorf("%s: %q", name, res.Text)
		}
		if (err == nil) != (name == "long" || name == "broken") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if res, err := r.Call(t.Context(), inDefault, llm.ToolCall{Name: "long", Arguments: strings.Repeat(" ", 51)}); err == nil || strings.Contains(res.Text, "ä") {
		t.Errorf("long arguments: %q, %v", res.Text, err)
	}
}

func TestRegistry_EndsACallWithItsTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := registry(t, Options{}, named("waits", func(ctx context.Context, _ Call) (Result, error) {
		cancel()
		<-ctx.Done()
		return Result{}, ctx.Err()
	}))
	if _, err := r.Call(ctx, inDefault, llm.ToolCall{Name: "waits"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// call runs one tool with arguments in JSON.
func call(t *testing.T, tool Tool, arguments string) (string, error) {
	t.Helper()
	if !json.Valid(tool.Parameters) {
		t.Fatalf("the schema of %s is not JSON", tool.Name)
	}
	r := registry(t, Options{Logger: slog.New(slog.DiscardHandler)}, tool)
	res, err := r.Call(t.Context(), inDefault, llm.ToolCall{Name: tool.Name, Arguments: arguments})
	return res.Text, err
}

func TestCalculator(t *testing.T) {
	for in, want := range map[string]string{
		"1+2*3": "7", "(1200 + 80) * 0.19": "243.2", "0.1+0.2": "0.3", "2**10": "1024", "2^10": "1024", "7/2": "3.5",
		"sqrt(16)": "4", "round(2.5)": "3", "min(3, 2)": "2", "max(1.5, 2)": "2", "abs(-3)": "3", "-5 % 3": "-2", "mod(7.5, 2)": "1.5",
		"pi": "3.14159265358979", "10 / 4 + 1": "3.5", "1e3 * 2": "2000", "pow(2, 0.5)": "1.4142135623731", "1/3": "0.333333333333333",
		"1e30": "1e+30", "floor(-1.5)": "-2", "ln(e)": "1", "5_000 * 2": "10000",
	} {
		got, err := call(t, Calculator(), fmt.Sprintf(`{"expression":%q}`, in))
		if err != nil || got != in+" = "+want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestCalculator_RefusesWhatIsNoArithmetic(t *testing.T) {
	for _, in := range []string{
		``, `1/0`, `0/0`, `sqrt(-1)`, `"a"`, `1..1000000000`, `len(1..1000000000)`, `map(1..9, # * 2)`, `os.Exit(1)`, `env`,
		strings.Repeat("1+", 400) + "1", strings.Repeat("(", 900), `true ? 1 : 2 ? `, `sqrt()`, `x + 1`, `[1,2]`, `{"a":1}`, `1 == 1`, "2**2**2**2**2**2",
		`"a" * 3`, `repeat("a", 100000000)`, strings.Repeat("9", 999),
	} {
		b, _ := json.Marshal(map[string]string{"expression": in})
		if got, err := call(t, Calculator(), string(b)); err == nil {
			t.Errorf("%.40q: %q", in, got)
		}
	}
	for _, args := range []string{`[]`, `{"expression":1}`, `{`, `{"expression":"1"}{}`, ``} {
		if got, err := call(t, Calculator(), args); err == nil {
			t.Errorf("%s: %q", args, got)
		}
	}
}

func TestClock(t *testing.T) {
	at := func() time.Time { return time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC) }
	for in, want := range map[string]string{
		`{}`:                           "Saturday, 21 November 2026, 23:30:00 +00:00 (week 47), time zone UTC",
		``:                             "Saturday, 21 November 2026, 23:30:00 +00:00 (week 47), time zone UTC",
		`{"timezone":"Europe/Berlin"}`: "Sunday, 22 November 2026, 00:30:00 +01:00 (week 47), time zone Europe/Berlin",
	} {
		if got, err := call(t, Clock(at), in); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, zone := range []string{"Mars/Olympus", "../../etc/passwd", "/etc/passwd"} {
		if got, err := call(t, Clock(at), fmt.Sprintf(`{"timezone":%q}`, zone)); err == nil {
			t.Errorf("%s: %q", zone, got)
		}
	}
}

// serve answers each path with a body and records the requests.
func serve(t *testing.T, bodies map[string]string) (base string, asked *[]*http.Request) {
	t.Helper()
	asked = &[]*http.Request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r)
		body, ok := bodies[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestWeather(t *testing.T) {
	base, asked := serve(t, map[string]string{
		"/geo": `{"results":[{"name":"Paris","admin1":"Texas","country":"United States","latitude":33.66,"longitude":-95.55},
			{"name":"Paris","admin1":"Île-de-France","country":"France","latitude":48.85341,"longitude":2.3488}]}`,
		"/empty": `{"generationtime_ms":0.5}`,
		"/fc": `{"timezone":"Europe/Paris","current":{"time":"2026-11-21T12:00","temperature_2m":8.4,"apparent_temperature":6.1,"relative_humidity_2m":81,"precipitation":0,"wind_speed_10m":12.2,"weather_code":3},
			"daily":{"time":["2026-11-21"],"weather_code":[61],"temperature_2m_max":[9.6],"temperature_2m_min":[4.4],"precipitation_sum":[2.5]}}`,
	})
	w := Weather(WeatherOptions{GeocodingURL: base + "/geo", ForecastURL: base + "/fc"})
	got, err := call(t, w, `{"location":"Paris, France"}`)
	want := "Paris, Île-de-France, France at 2026-11-21T12:00 (Europe/Paris): overcast, 8.4 °C, feels like 6.1 °C, humidity 81 %, precipitation 0.0 mm, wind 12 km/h.\n" +
		"2026-11-21: rain, 4 to 10 °C, precipitation 2.5 mm."
	if err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if q := (*asked)[0].URL.Query(); q.Get("name") != "Paris" {
		t.Errorf("looked for %q", q.Get("name"))
	}
	if q := (*asked)[1].URL.Query(); q.Get("latitude") != "48.8534" || q.Get("longitude") != "2.3488" {
		t.Errorf("asked for %s", (*asked)[1].URL)
	}
	for name, w := range map[string]Tool{
		"There is no place with this name.":     Weather(WeatherOptions{GeocodingURL: base + "/empty", ForecastURL: base + "/fc"}),
		"The service answered with status 418.": Weather(WeatherOptions{GeocodingURL: base + "/geo", ForecastURL: base + "/x"}),
		"The service can't be reached.":         Weather(WeatherOptions{GeocodingURL: "http://127.0.0.1:1/"}),
		"The location is empty or too long.":    w,
	} {
		location := "Paris"
		if name == "The location is empty or too long." {
			location = " "
		}
		if got, err := call(t, w, fmt.Sprintf(`{"location":%q}`, location)); err == nil || got != name {
			t.Errorf("%q, %v; want %q", got, err, name)
		}
	}
}

func TestWebSearch(t *testing.T) {
	base, asked := serve(t, map[string]string{
		"/search": `{"results":[{"title":"A &amp; <b>B</b>","url":"https://a.example/","content":"some\n <em>text</em>"},{"title":"bad","url":"javascript:alert(1)","content":"x"}]}`,
		"/brave":  `{"web":{"results":[{"title":"T","url":"https://t.example/","description":"d"}]}}`,
		"/tavily": `{"results":[]}`,
	})
	for _, c := range []struct {
		opts WebSearchOptions
		want string
		sent func(*http.Request) string
	}{
		{WebSearchOptions{Engine: "searxng", URL: base + "/"}, "1. A & B\nhttps://a.example/\nsome text", func(r *http.Request) string { return r.URL.RawQuery }},
		{WebSearchOptions{Engine: "brave", URL: base + "/brave", Key: "k"}, "1. T\nhttps://t.example/\nd", func(r *http.Request) string { return r.Header.Get("X-Subscription-Token") }},
		{WebSearchOptions{Engine: "tavily", URL: base + "/tavily", Key: "k"}, "Nothing was found.", func(r *http.Request) string { return r.Method + " " + r.Header.Get("Authorization") }},
	} {
		w, err := WebSearch(c.opts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := call(t, w, `{"query":"the question"}`)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.opts.Engine, got, err)
		}
		sent := c.sent((*asked)[len(*asked)-1])
		if want := map[string]string{"searxng": "format=json&q=the+question", "brave": "k", "tavily": "POST Bearer k"}[c.opts.Engine]; sent != want {
			t.Errorf("%s: sent %q", c.opts.Engine, sent)
		}
	}
	for _, opts := range []WebSearchOptions{{}, {Engine: "bing"}, {Engine: "searxng"}, {Engine: "brave"}, {Engine: "tavily"}} {
		if _, err := WebSearch(opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
}

func TestService_TellsNoKeyAndNoAddress(t *testing.T) {
	w, err := WebSearch(WebSearchOptions{Engine: "brave", URL: "http://127.0.0.1:1/canary-path", Key: "canary-key"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Run(t.Context(), Call{Arguments: json.RawMessage(`{"query":"canary-query"}`)})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestSearchDocuments_SearchesWithTheRightsOfTheTurn(t *testing.T) {
	filter := retrieval.Filter{Namespace: "hr", Principal: access.Principal{Subject: "ann"}, ExcludeCategory: "old", RequireUser: true}
	var asked retrieval.Query
	tool := SearchDocuments(func(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
		asked = q
		return retrieval.Result{Passages: make([]retrieval.Passage, 2)}, nil
	})
	r := registry(t, Options{}, tool)
	res, err := r.Call(t.Context(), filter, llm.ToolCall{Name: "search_documents", Arguments: `{"query":" leave ","namespace":"other","principal":"root"}`})
	if err != nil || len(res.Passages) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	if diff := cmp.Diff(retrieval.Query{Filter: filter, Text: "leave", Mode: retrieval.Hybrid, Limit: foundDocuments}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestReadPage(t *testing.T) {
	tool := ReadPage(func(_ context.Context, url string, _ fetch.Known) (*fetch.Page, error) {
		if url == "http://localhost/" {
			return nil, &fetch.Error{Kind: fetch.KindForbidden, Msg: "The URL leads to an address that is not public."}
		}
		return &fetch.Page{URL: url, Body: []byte("<p>x")}, nil
	}, func(_ context.Context, page *fetch.Page) (string, string, error) {
		if strings.Contains(page.URL, "binary") {
			return "", "", errors.New("no text")
		}
		return "Title", string(page.Body), nil
	})
	for url, want := range map[string]string{
		"https://a.example/":       "Title\nhttps://a.example/\n\n<p>x",
		"http://localhost/":        "The URL leads to an address that is not public.",
		"https://a.example/binary": "The page has no readable text.",
	} {
		if got, _ := call(t, tool, fmt.Sprintf(`{"url":%q}`, url)); got != want {
			t.Errorf("%s: %q", url, got)
		}
	}
}
