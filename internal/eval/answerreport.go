package eval

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteAnswers prints each answer with its verdict, then totals. The text has no times, nor anything else that changes between
// runs, so that two reports can be compared line by line.
func WriteAnswers(w io.Writer, judged []Judgement) error {
	b := bufio.NewWriter(w)
	for _, j := range judged {
		mark := ""
		if j.Misleading {
			mark = "  MISLEADING"
		}
		fmt.Fprintf(b, "%-15s  %s  %s %s  cites %s  superfluous %d%s\n    %s\n    > %s\n", j.Verdict, j.ID, j.Language, j.Type,
			j.Cites, j.Superfluous, mark, j.Question, strings.Join(strings.Fields(j.Answer), " "))
	}
	fmt.Fprintln(b)
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\tquestions\t")
	for _, v := range verdicts {
		fmt.Fprintf(tw, "%s\t", v)
	}
	fmt.Fprintln(tw, "misleading\tsuperfluous\tgold page\tgold document\t")
	for _, g := range groups(judged) {
		g.write(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return b.Flush()
}

// group is a set of judgements that have something in common.
type group struct {
	name   string
	judged []Judgement
}

// groups returns a group of all judgements, one for each corpus, language and type, and one for follow-ups.
func groups(judged []Judgement) []group {
	all := []group{{"all", judged}}
	for _, by := range []func(j Judgement) string{
		func(j Judgement) string { return "corpus " + j.Corpus },
		func(j Judgement) string { return "language " + j.Language },
		func(j Judgement) string { return "type " + j.Type },
		func(j Judgement) string {
			if j.Follows == "" {
				return "first question"
			}
			return "follow-up"
		},
	} {
		var part []group
		for _, j := range judged {
			name := by(j)
			at, ok := slices.BinarySearchFunc(part, name, func(g group, name string) int { return strings.Compare(g.name, name) })
			if !ok {
				part = slices.Insert(part, at, group{name: name})
			}
			part[at].judged = append(part[at].judged, j)
		}
		all = append(all, part...)
	}
	return all
}

func (g group) write(w io.Writer) {
	counts, misleading, extra, page, document := map[Verdict]int{}, 0, 0, 0, 0
	for _, j := range g.judged {
		counts[j.Verdict]++
		extra += j.Superfluous
		if j.Misleading {
			misleading++
		}
		if j.Cites == "page" {
			page++
		}
		if j.Cites == "page" || j.Cites == "document" {
			document++
		}
	}
	fmt.Fprintf(w, "%s\t%d\t", g.name, len(g.judged))
	for _, v := range verdicts {
		fmt.Fprintf(w, "%d\t", counts[v])
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t\n", misleading, extra, page, document)
}

// WriteChanges prints which questions are won and lost against an older report, and whose answers
// changed with the same verdict.
func WriteChanges(w io.Writer, old io.Reader, judged []Judgement) error {
	before, err := readVerdicts(old)
	if err != nil {
		return err
	}
	var won, lost, other []string
	for _, j := range judged {
		was, ok := before[j.ID]
		if !ok || was == j.Verdict {
			continue
		}
		line := fmt.Sprintf("%s  %s -> %s  %s", j.ID, was, j.Verdict, j.Question)
		switch {
		case j.Verdict.good() && !was.good():
			won = append(won, line)
		case was.good() && !j.Verdict.good():
			lost = append(lost, line)
		default:
			other = append(other, line)
		}
	}
	for _, part := range []struct {
		name  string
		lines []string
	}{{"won", won}, {"lost", lost}, {"neither won nor lost", other}} {
		fmt.Fprintf(w, "\n%s: %d\n", part.name, len(part.lines))
		for _, l := range part.lines {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}
	return nil
}

// readVerdicts reads the verdict of each question from a report.
func readVerdicts(r io.Reader) (map[string]Verdict, error) {
	before := make(map[string]Verdict)
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) > 1 && !strings.HasPrefix(s.Text(), " ") && slices.Contains(verdicts, Verdict(f[0])) {
			before[f[1]] = Verdict(f[0])
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read the older report: %w", err)
	}
	return before, nil
}
