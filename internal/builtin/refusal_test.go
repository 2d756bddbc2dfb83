package builtin

import (
	"fmt"
	"strings"
	"testing"
)

func TestScratch(t *testing.T) {
	p := newProduct(index(t, "../../docs", inProcess{}))
	for _, q := range readLines(t, "offcorpus.txt") {
		turn := p.ask(t, q)
		if turn.Messages[0].Text != Refusal {
			fmt.Println("NOT REFUSED", q, "=>", turn.Messages[0].Text)
		}
	}
	for _, l := range readLines(t, "docs.tsv") {
		q, file, _ := strings.Cut(l, "\t")
		turn := p.ask(t, q)
		in := "-"
		for i, ps := range p.top(t, q, 5) {
			if ps.Document.Name == file {
				in = fmt.Sprint(i + 1)
				break
			}
		}
		cites := false
		for _, c := range turn.Messages[0].Citations {
			cites = cites || c.Name == file
		}
		fmt.Println(in, cites, q, file, "\n     =>", turn.Messages[0].Text, "\n     ", turn.FollowUps)
	}
}
