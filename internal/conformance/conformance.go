// Package conformance asks a server questions in the chat protocols that Parley speaks, and reports which of the protocols'
// rules the replies keep. It demands only what the documents of the protocols require, so it can check any server.
//
//	report, err := conformance.Run(ctx, conformance.Options{URL: "http://127.0.0.1:8000"})
//	report.Print(os.Stdout)
//
// A protocol is a table of exchanges; an exchange is a request with the rules for its reply. The server may be hostile:
// replies have a deadline and a size limit, are never decompressed, and redirects are not followed.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Rule is a requirement of a protocol for a reply.
type Rule struct {
	Name   string               // unique in its exchange
	Place  string               // section of the document
	Demand string               // what must hold, as a sentence
	holds  func(r *Reply) error // returns nil if the rule holds, and otherwise what came instead
	basic  bool                 // if it is broken, the rules after it in the exchange are not judged
}

// Exchange is a request with the rules for its reply. Path and Body may contain {NAME}, which is replaced by the value
// that an earlier exchange saved under that name.
type Exchange struct {
	Name   string
	Method string
	Path   string
	Type   string // Content-Type; "" means JSON if there is a body
	Accept string // "" means */*
	Body   string
	Header map[string]string   // further headers
	Saves  map[string]string   // name → path of a member of the reply, or "header:NAME"
	Until  func(r *Reply) bool // the request is repeated until this is true; nil sends it once
	Writes bool                // the server stores something
	Extra  bool                // the protocol works without this route
	Clean  bool                // removes what the check has stored; never judged
	frame  framing
	Rules  []Rule
}

// Protocol is one protocol of a server.
type Protocol struct {
	Name      string
	Title     string
	Exchanges []Exchange // the reply to the first one shows whether a server speaks the protocol
	marks     []string   // paths; the reply to the first exchange must have one of them. list: it must be an array
	prefixes  []string   // of all paths; the first one at which the server speaks the protocol is used, or else the last. nil means ""
	before    *Exchange  // sent before the first one, to save values; never judged
}

const list = "[]" // the mark of a reply that is an array

// Protocols returns the protocols in the order in which they are tried.
func Protocols() []Protocol {
	return []Protocol{azure0529(), azure0128(), microsoftSDK(), ragchat(), chatUI(), openAI(), responses(), files(), modelContext(), modelContextStateless(),
		aiSDK(), agUI(), responsesSample(), onYourData(), dify(), embeddings(), completions(), ragAPI(), openWebUI()}
}

// Options configures a run of checks.
type Options struct {
	URL       string        // of the server, without the paths of the protocols
	Protocols []string      // names; checked even if the server seems not to speak them. nil means all that it speaks
	Header    http.Header   // sent with each request, such as Authorization; never reported
	ReadOnly  bool          // leave out exchanges that store something
	Timeout   time.Duration // for each exchange; 0 means 60 s
	Question  string        // asked in every protocol; "" means a general one
	Knowledge string        // id of the knowledge base to search in Dify's protocol; "" means "default"
}

// ErrUsage means that the options are not valid. Errors that wrap it say why.
var ErrUsage = errors.New("wrong options")

// Outcome is the result of a rule.
type Outcome string

// The outcomes.
const (
	Held    Outcome = "held"
	Broken  Outcome = "broken"
	Skipped Outcome = "skipped" // not judged: a rule before it is broken, a value that it needs is missing, or the route does not exist
)

// Finding is a rule with its outcome.
type Finding struct {
	Exchange string  `json:"exchange"`
	Rule     string  `json:"rule"`
	Place    string  `json:"place"`
	Demand   string  `json:"demand"`
	Outcome  Outcome `json:"outcome"`
	Detail   string  `json:"detail,omitempty"` // what came instead, or why the rule was skipped
	Sent     string  `json:"sent,omitempty"`   // of a broken rule: the request as a curl line, without secrets
	Came     string  `json:"came,omitempty"`   // of a broken rule: the reply, shortened
}

// ProtocolReport is the result of one protocol.
type ProtocolReport struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Spoken   bool      `json:"spoken"`
	Why      string    `json:"why,omitempty"` // why the protocol counts as not spoken
	Held     int       `json:"held"`
	Broken   int       `json:"broken"`
	Skipped  int       `json:"skipped"`
	Findings []Finding `json:"findings,omitempty"`
}

// Report is the result of a check.
type Report struct {
	URL       string           `json:"url"`
	Protocols []ProtocolReport `json:"protocols"`
	Held      int              `json:"held"`
	Broken    int              `json:"broken"`
	Skipped   int              `json:"skipped"`
}

const defaultQuestion = "What is this about? Gib ein Beispiel — δώσε 😀"

// Run checks a server. The error wraps ErrUsage, is that of ctx, or means that the server cannot be reached.
func Run(ctx context.Context, o Options) (*Report, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%w: %q is not an http or https URL", ErrUsage, o.URL)
	}
	all := Protocols()
	for _, name := range o.Protocols {
		if !slices.ContainsFunc(all, func(p Protocol) bool { return p.Name == name }) {
			return nil, fmt.Errorf("%w: there is no protocol %q; use one of %s", ErrUsage, name, names(all))
		}
	}
	c := newClient(o)
	report := &Report{URL: strings.TrimSuffix(o.URL, "/")}
	for _, p := range all {
		forced := slices.Contains(o.Protocols, p.Name)
		if len(o.Protocols) > 0 && !forced {
			continue
		}
		one, err := c.protocol(ctx, p, forced)
		if err != nil {
			return nil, err
		}
		report.Protocols = append(report.Protocols, one)
		report.Held, report.Broken, report.Skipped = report.Held+one.Held, report.Broken+one.Broken, report.Skipped+one.Skipped
	}
	return report, nil
}

func names(all []Protocol) string {
	var list []string
	for _, p := range all {
		list = append(list, p.Name)
	}
	return strings.Join(list, ", ")
}

// protocol runs the exchanges of a protocol in order.
func (c *client) protocol(ctx context.Context, p Protocol, forced bool) (ProtocolReport, error) {
	out := ProtocolReport{Name: p.Name, Title: p.Title, Spoken: true}
	c.saved, c.gaveUp = map[string]string{"question": c.question, "knowledge_id": c.knowledge}, false
	if c.readOnly && p.Exchanges[0].Writes {
		return ProtocolReport{Name: p.Name, Title: p.Title, Why: "it cannot be checked without storing something"}, nil
	}
	if c.prefix = ""; p.before != nil {
		_, _ = c.send(ctx, *p.before)
	}
	c.prefix = c.prefixOf(ctx, p)
	for i, x := range p.Exchanges {
		if x.Writes && c.readOnly {
			continue
		}
		r, missing := c.send(ctx, x)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case r != nil && r.unreached():
			return out, fmt.Errorf("the server cannot be reached: %w", r.Err)
		case i == 0 && !forced:
			if why := spoken(p, r); why != "" {
				return ProtocolReport{Name: p.Name, Title: p.Title, Why: why}, nil
			}
		}
		if x.Clean {
			continue
		}
		for _, f := range judge(x, r, missing) {
			out.count(f)
		}
	}
	if first := len(p.Exchanges[0].Rules); !forced && out.Skipped > 0 && out.Skipped == len(out.Findings)-first {
		return ProtocolReport{Name: p.Name, Title: p.Title, Why: "the server has none of its routes"}, nil
	}
	return out, nil
}

// prefixOf returns the first prefix below which the server speaks a protocol, or the last one.
func (c *client) prefixOf(ctx context.Context, p Protocol) string {
	for i, prefix := range p.prefixes {
		c.prefix = prefix
		if i == len(p.prefixes)-1 {
			return prefix
		}
		if r, _ := c.send(ctx, p.Exchanges[0]); spoken(p, r) == "" {
			return prefix
		}
	}
	return ""
}

func (p *ProtocolReport) count(f Finding) {
	switch f.Outcome {
	case Held:
		p.Held++
	case Broken:
		p.Broken++
	default:
		p.Skipped++
	}
	p.Findings = append(p.Findings, f)
}

// spoken returns why a server seems not to speak a protocol, or "".
func spoken(p Protocol, r *Reply) string {
	switch {
	case r == nil:
		return "no request could be made"
	case r.Err != nil && r.Status == 0:
		return "no reply: " + r.Err.Error()
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fmt.Sprintf("status %d: give a key with --header", r.Status)
	case r.Status < 200 || r.Status > 299:
		return fmt.Sprintf("status %d at %s %s", r.Status, r.exchange.Method, r.exchange.Path)
	}
	if !slices.ContainsFunc(p.marks, r.marked) {
		return "the reply has none of the members " + strings.Join(p.marks, ", ")
	}
	return ""
}

func (r *Reply) marked(mark string) bool {
	if mark == list {
		return kindOf(r.value) == array
	}
	_, ok := r.at(mark)
	return ok
}

// judge applies the rules of an exchange. missing names a value that the request needs and no earlier exchange saved; it is
// "" if there is none.
func judge(x Exchange, r *Reply, missing string) []Finding {
	var all []Finding
	skip := ""
	switch {
	case missing != "":
		skip = "an earlier reply has no " + missing
	case x.Extra && r.absent():
		skip = fmt.Sprintf("the server does not have this route (status %d)", r.Status)
	}
	for _, rule := range x.Rules {
		f := Finding{Exchange: x.Name, Rule: rule.Name, Place: rule.Place, Demand: rule.Demand, Outcome: Skipped, Detail: skip}
		if skip == "" {
			f.Outcome = Held
			if err := rule.holds(r); err != nil {
				f.Outcome, f.Detail, f.Sent, f.Came = Broken, err.Error(), r.curl(), r.excerpt()
				if rule.basic {
					skip = "the rule " + rule.Name + " is broken"
				}
			}
		}
		all = append(all, f)
	}
	return all
}
