package eval

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable prints a report for people.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d documents, %d chunks\n\n", r.Dataset, r.Documents, r.Chunks)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(r.Rankings) > 0 {
		fmt.Fprintln(tw, "retriever\tmode\tquery\tn\trecall@1\t@3\t@5\t@10\tndcg@10\tmrr@10\tmap\tp50 ms\tp99 ms\t")
		for _, k := range r.Rankings {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t\n", k.Retriever, k.Mode, k.Form,
				k.Queries, k.Recall1, k.Recall3, k.Recall5, k.Recall10, k.NDCG10, k.MRR10, k.MAP, k.P50, k.P99)
		}
	}
	if p := r.Pages; p != nil {
		fmt.Fprintln(tw, "retriever\tmode\tdocument@1\tgold page@1\t@3\t@5\t@10\twithin one page@3\t@5\t@10\tp50 ms\tp99 ms\t")
		for _, s := range p.Searches {
			fmt.Fprintf(tw, "%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t\n", s.Retriever, s.Mode,
				s.Document1, s.Gold1, s.Gold3, s.Gold5, s.Gold10, s.Near3, s.Near5, s.Near10, s.P50, s.P99)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
		fmt.Fprintln(tw, "answers\tcite of the gold pages\tcite any\tprecision\tpages cited\tmost\trefused\tunanswerable\tof these refused\t")
		fmt.Fprintf(tw, "%d\t%.3f\t%.3f\t%.3f\t%.2f\t%d\t%d\t%d\t%d\t\n", p.Questions, p.CitedGold, p.CitedAny, p.CitePrecision,
			p.PagesCited, p.MostCited, p.Refused, p.Unanswerable, p.RefusedRight)
	}
	return tw.Flush()
}
