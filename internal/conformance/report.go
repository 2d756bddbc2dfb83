package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// JSON writes the report as one indented JSON object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Print writes the report for people: the figures of each protocol, then each broken rule.
func (r *Report) Print(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s\n\n", r.URL)
	for _, p := range r.Protocols {
		if !p.Spoken {
			fmt.Fprintf(b, "  %-14s not spoken: %s\n", p.Name, p.Why)
			continue
		}
		fmt.Fprintf(b, "  %-14s %3d rules held, %d broken", p.Name, p.Held, p.Broken)
		if p.Skipped > 0 {
			fmt.Fprintf(b, ", %d not judged", p.Skipped)
		}
		b.WriteString("\n")
	}
	for _, p := range r.Protocols {
		for _, f := range p.Findings {
			if f.Outcome == Broken {
				fmt.Fprintf(b, "\n%s: %s, %s\n  rule      %s\n            (%s)\n  instead   %s\n  sent      %s\n  received  %s\n", p.Title, f.Exchange, f.Rule, f.Demand, f.Place,
					indented(f.Detail), indented(f.Sent), indented(f.Came))
			}
		}
	}
	fmt.Fprintf(b, "\n%d of %d rules held (%.0f %%)", r.Held, r.Held+r.Broken, r.Score()*100)
	if r.Skipped > 0 {
		fmt.Fprintf(b, "; %d could not be judged", r.Skipped)
	}
	b.WriteString(".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Score returns the share of the judged rules that held, from 0 to 1; 0 if no rule was judged.
func (r *Report) Score() float64 {
	if r.Held+r.Broken == 0 {
		return 0
	}
	return float64(r.Held) / float64(r.Held+r.Broken)
}

func indented(s string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n            ")
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure"`
	Skipped *junitProblem `xml:"skipped"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report in JUnit's XML format, which build servers read: a suite for each protocol that is spoken, and a
// case for each rule.
func (r *Report) JUnit(w io.Writer) error {
	var all junitSuites
	for _, p := range r.Protocols {
		if !p.Spoken {
			continue
		}
		s := junitSuite{Name: p.Name, Tests: len(p.Findings), Failures: p.Broken, Skipped: p.Skipped}
		for _, f := range p.Findings {
			c := junitCase{Class: p.Name + "." + f.Exchange, Name: f.Rule + ": " + f.Demand}
			switch f.Outcome {
			case Broken:
				c.Failure = &junitProblem{f.Detail, f.Place + "\n" + f.Sent + "\n" + f.Came}
			case Skipped:
				c.Skipped = &junitProblem{Message: f.Detail}
			case Held:
			}
			s.Cases = append(s.Cases, c)
		}
		all.Suites = append(all.Suites, s)
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}
