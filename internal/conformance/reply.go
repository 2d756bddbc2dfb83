package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/interrupt"
	"parley/internal/lazyregexp"
)

// The limits of one reply.
const (
	maxBody      = 16 << 20 // bytes
	maxExcerpt   = 600      // bytes of a reply in a report
	standardTime = 60 * time.Second
	pause        = 200 * time.Millisecond // before a request is repeated
)

// framing says how a body is divided into JSON values.
type framing int

const (
	one    framing = iota // one JSON value
	ndjson                // one JSON value a line
	sse                   // server-sent events with JSON data
	opaque                // anything
)

// Reply is a server's answer to an exchange.
type Reply struct {
	Status int // 0 if no reply came
	Header http.Header
	Body   []byte
	Err    error // why the reply is missing or incomplete

	exchange Exchange // as sent
	base     string
	secrets  []string // names of the user's headers, whose values are secret

	value     any      // of a body that is one JSON value
	items     []any    // values of the lines or events
	events    []string // names of the events, "" for unnamed ones
	done      bool     // the last event was [DONE], which is not an item
	malformed error    // why the body does not have the framing of the exchange
}

type client struct {
	http     *http.Client
	base     string
	header   http.Header
	timeout  time.Duration
	question string // as JSON

	knowledge string // escaped for a JSON string
	readOnly  bool
	prefix    string // of all paths of the protocol that is being checked
	saved     map[string]string
	gaveUp    bool // a state was not reached in time; the check of this protocol does not wait again
}

func newClient(o Options) *client {
	question, _ := json.Marshal(cmp.Or(o.Question, defaultQuestion))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // a small compressed reply must not become a large one
	transport.MaxResponseHeaderBytes = 1 << 20
	return &client{
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		base: strings.TrimSuffix(o.URL, "/"), header: o.Header, timeout: cmp.Or(o.Timeout, standardTime),
		question: string(question), knowledge: inJSON(cmp.Or(o.Knowledge, "default")), readOnly: o.ReadOnly,
	}
}

var placeholder = lazyregexp.New(`\{(question|[a-z]+_id)\}`)

// fill replaces the placeholders in a text by saved values. missing is the name of a value that was not saved, or "".
func (c *client) fill(text string) (filled, missing string) {
	filled = placeholder.ReplaceAllStringFunc(text, func(name string) string {
		name = strings.Trim(name, "{}")
		value, ok := c.saved[name]
		if !ok {
			missing = name
		}
		return value
	})
	return filled, missing
}

// send sends the request of an exchange, and saves values of the reply. If the request needs a value that was not saved,
// send returns a nil reply and the name of the value.
func (c *client) send(ctx context.Context, x Exchange) (*Reply, string) {
	var missing, also string
	x.Path, missing = c.fill(c.prefix + x.Path)
	if x.Body, also = c.fill(x.Body); missing != "" || also != "" {
		return nil, cmp.Or(missing, also)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r := c.attempt(ctx, x)
	for x.Until != nil && !x.Until(r) && r.Err == nil {
		if c.gaveUp || interrupt.Sleep(ctx, pause) != nil {
			c.gaveUp = true
			r.Err = errors.New("the state that the check waits for did not come in time")
			return r, ""
		}
		r = c.attempt(ctx, x)
	}
	for name, path := range x.Saves {
		if header, ok := strings.CutPrefix(path, "header:"); ok {
			c.saved[name] = r.Header.Get(header)
		} else if v, ok := r.at(path); ok {
			if s, isText := v.(string); isText && s != "" {
				c.saved[name] = s
			}
		}
	}
	return r, ""
}

func (c *client) attempt(ctx context.Context, x Exchange) *Reply {
	r := &Reply{exchange: x, base: c.base, secrets: slices.Sorted(maps.Keys(c.header)), Header: http.Header{}}
	req, err := http.NewRequestWithContext(ctx, x.Method, c.base+x.Path, strings.NewReader(x.Body))
	if err != nil {
		r.Err = err
		return r
	}
	req.Header = c.header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if x.Body != "" {
		req.Header.Set("Content-Type", cmp.Or(x.Type, "application/json"))
	}
	req.Header.Set("Accept", cmp.Or(x.Accept, "*/*"))
	for name, value := range x.Header {
		req.Header.Set(name, value)
	}
	if session := c.saved["mcpsession_id"]; session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := c.http.Do(req)
	if err != nil {
		r.Err = plain(err)
		return r
	}
	defer res.Body.Close()
	r.Status, r.Header = res.StatusCode, res.Header
	r.Body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		r.Err = fmt.Errorf("the reply broke off after %d bytes: %w", len(r.Body), plain(err))
	case len(r.Body) > maxBody:
		r.Body, r.Err = r.Body[:maxBody], fmt.Errorf("the reply has more than %d MiB", maxBody>>20)
	}
	r.decode()
	return r
}

// plain replaces the error of a timeout by a readable one.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the reply took too long")
	}
	return err
}

// unreached reports whether no connection to the server could be made.
func (r *Reply) unreached() bool {
	op, ok := errors.AsType[*net.OpError](r.Err)
	return ok && op.Op == "dial"
}

// absent reports whether the server does not have the route.
func (r *Reply) absent() bool {
	return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, r.Status)
}

// decode parses the body by its framing. Replies with an error status are one JSON value in all protocols.
func (r *Reply) decode() {
	frame := r.exchange.frame
	if r.Status/100 != 2 {
		frame = one
	}
	switch frame {
	case ndjson:
		r.lines()
	case sse:
		if media(r.Header) == "application/json" && strings.Contains(r.exchange.Accept, "application/json") { // the server may choose
			r.value, r.malformed = decoded(r.Body)
			r.items, r.events = []any{r.value}, []string{""}
			return
		}
		r.readEvents()
	case one:
		r.value, r.malformed = decoded(r.Body)
	case opaque:
	}
}

// decoded parses exactly one JSON value, in which no object may have a key twice.
func decoded(b []byte) (v any, err error) {
	if !utf8.Valid(b) {
		return nil, errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is text after the JSON value")
	}
	return v, repeated(b)
}

// repeated returns an error if an object in valid JSON has a key twice.
func repeated(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	type object struct {
		keys  map[string]bool // nil for an array
		value bool            // a value is next, not a key
	}
	var open []object
	for {
		token, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // the end: the caller has checked that the text is valid
		}
		top := len(open) - 1
		if key, ok := token.(string); ok && top >= 0 && open[top].keys != nil && !open[top].value {
			if open[top].keys[key] {
				return fmt.Errorf("the key %q occurs twice", key)
			}
			open[top].keys[key], open[top].value = true, true
			continue
		}
		if top >= 0 {
			open[top].value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
	}
}

func (r *Reply) lines() {
	body := string(r.Body)
	switch {
	case body == "":
		r.malformed = errors.New("the stream is empty")
		return
	case !strings.HasSuffix(body, "\n"):
		r.malformed = errors.New("the last line does not end with a newline")
	case strings.Contains(body, "\r"):
		r.malformed = errors.New("lines end with a carriage return")
	}
	for i, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		v, err := decoded([]byte(line))
		if err != nil && r.malformed == nil {
			r.malformed = fmt.Errorf("line %d: %w", i+1, err)
		}
		r.items = append(r.items, v)
	}
}

// readEvents reads server-sent events (WHATWG HTML, section 9.2).
func (r *Reply) readEvents() {
	body := strings.ReplaceAll(string(r.Body), "\r\n", "\n")
	if !strings.HasSuffix(body, "\n\n") {
		r.malformed = errors.New("the last event does not end with an empty line")
	}
	for i, block := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, data, fields := "", []string(nil), false
		for _, line := range strings.Split(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "data":
				data, fields = append(data, value), true
			case "event":
				name, fields = value, true
			case "", "id", "retry": // a line that begins with a colon is a comment
			default:
				r.malformed = cmp.Or(r.malformed, fmt.Errorf("event %d has the field %q", i+1, shorten(field, 40)))
			}
		}
		if !fields {
			continue
		}
		text := strings.Join(data, "\n")
		if r.done {
			r.malformed = cmp.Or(r.malformed, errors.New("there is an event after [DONE]"))
		}
		if text == "[DONE]" {
			r.done = true
			continue
		}
		v, err := decoded([]byte(text))
		if err != nil {
			r.malformed = cmp.Or(r.malformed, fmt.Errorf("event %d: %w", i+1, err))
		}
		r.items, r.events = append(r.items, v), append(r.events, name)
	}
	if len(r.items) == 0 {
		r.malformed = cmp.Or(r.malformed, errors.New("there is no event"))
	}
}

// at returns a member of the reply, or of the first item of a stream.
func (r *Reply) at(path string) (any, bool) {
	if r.value == nil && len(r.items) > 0 {
		return at(r.items[0], path)
	}
	return at(r.value, path)
}

// at returns the value at a path of keys and indices, such as "choices.0.message". The index -1 is the last one, and the
// path "" is the value itself.
func at(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for _, step := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if i < 0 {
				i += len(in)
			}
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// curl returns the request as a curl command, without the values of the user's headers.
func (r *Reply) curl() string {
	x := r.exchange
	var b strings.Builder
	fmt.Fprintf(&b, "curl -N -X %s %s", x.Method, quoted(r.base+x.Path))
	for _, name := range r.secrets {
		fmt.Fprintf(&b, " -H %s", quoted(name+": …"))
	}
	if x.Accept != "" {
		fmt.Fprintf(&b, " -H %s", quoted("Accept: "+x.Accept))
	}
	for _, name := range slices.Sorted(maps.Keys(x.Header)) {
		fmt.Fprintf(&b, " -H %s", quoted(name+": "+x.Header[name]))
	}
	if x.Body != "" {
		fmt.Fprintf(&b, " -H %s --data-binary %s", quoted("Content-Type: "+cmp.Or(x.Type, "application/json")), quoted(x.Body))
	}
	return b.String()
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// excerpt returns the status, media type and beginning of a reply.
func (r *Reply) excerpt() string {
	if r.Status == 0 {
		return "no reply"
	}
	return fmt.Sprintf("%d %s %s", r.Status, r.Header.Get("Content-Type"), shorten(string(r.Body), maxExcerpt))
}

// shorten returns at most the given number of bytes of a text, as valid UTF-8 without control characters other than newlines.
func shorten(s string, most int) string {
	cut := len(s) > most
	if cut {
		s = s[:most]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if cut {
		s += "…"
	}
	return s
}
