package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentences_EndWhereAReaderWouldEndThem(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"plain", "One is here. Two is there! Is three?", []string{"One is here.", "Two is there!", "Is three?"}},
		{"titles", "Dr. Smith met Mr. Jones. They spoke.", []string{"Dr. Smith met Mr. Jones.", "They spoke."}},
		{"latin", "Use a tool, e.g. Hammer or i.e. Nail. Done.", []string{"Use a tool, e.g. Hammer or i.e. Nail.", "Done."}},
		{"decimals", "It grew 3.5 percent. By 2.0 more.", []string{"It grew 3.5 percent.", "By 2.0 more."}},
		{"numbered", "See Fig. 3 and No. 7. There is no. That is all.",
			[]string{"See Fig. 3 and No. 7.", "There is no.", "That is all."}},
		{"initials", "J. R. Tolkien wrote it. Bilbo read it.", []string{"J. R. Tolkien wrote it.", "Bilbo read it."}},
		{"initials at the end", "He lives in the U.S. The weather is fine. The U.S. Army left.",
			[]string{"He lives in the U.S.", "The weather is fine.", "The U.S. Army left."}},
		{"list markers", "1. First step. 2. Second step. IV. Fourth.",
			[]string{"1. First step.", "2. Second step.", "IV. Fourth."}},
		{"list markers behind bullets", "Steps:\n• 1. Wash your hands\n• 2. Wait", []string{"Steps:", "• 1. Wash your hands", "• 2. Wait"}},
		{"initials that are abbreviations as well", "Present: J. Farrant, P. Nakamura. See p. 3 and P. 4.",
			[]string{"Present: J. Farrant, P. Nakamura.", "See p. 3 and P. 4."}},
		{"extensions", "Help desk: ext. 2020, tel. 0123.", []string{"Help desk: ext. 2020, tel. 0123."}},
		{"letters", "(a) Do this. (B) Do that.", []string{"(a) Do this.", "(B) Do that."}},
		{"quotes", "“Really?” he said. “Yes.” She left.", []string{"“Really?” he said.", "“Yes.”", "She left."}},
		{"code and addresses", "The operators == and != compare. Open /find?n=1 or /a!/b!=c. Is it? (Yes.) Good!Next.",
			[]string{"The operators == and != compare.", "Open /find?n=1 or /a!/b!=c.", "Is it?", "(Yes.)", "Good!", "Next."}},
		{"wrapped lines", "A sentence that\nis wrapped. Another\r\none.", []string{"A sentence that\nis wrapped.", "Another\r\none."}},
		{"empty line", "No stop\n\nAnother one", []string{"No stop", "Another one"}},
		{"chinese", "北京是首都。上海很大！真的吗？是的。", []string{"北京是首都。", "上海很大！", "真的吗？", "是的。"}},
		{"japanese", "「行きます。」と言った。終わり。", []string{"「行きます。」", "と言った。", "終わり。"}},
		{"arabic", "كيف حالك؟ أنا بخير.", []string{"كيف حالك؟", "أنا بخير."}},
		{"hindi", "यह एक वाक्य है। यह दूसरा है।", []string{"यह एक वाक्य है।", "यह दूसरा है।"}},
		{"only marks", "... --- ...", []string{"... --- ..."}},
		{"white space", " \n\t ", nil},
		{"two", "It is covered. You pay 20%.", []string{"It is covered.", "You pay 20%."}},
		{"abbreviations", "See Dr. Smith, e.g. at 3.5 p.m. today. Done.", []string{"See Dr. Smith, e.g. at 3.5 p.m. today.", "Done."}},
		{"a line break within a sentence", "The plan\ncovers it. It\nis good.", []string{"The plan\ncovers it.", "It\nis good."}},
		{"a blank line ends a sentence", "A heading\n\nThe text.", []string{"A heading", "The text."}},
		{"list items", "Items:\n• one\n• two\n1. three\n2) four", []string{"Items:", "• one", "• two", "1. three", "2) four"}},
		{"chinese without spaces", "这是第一句。这是第二句！", []string{"这是第一句。", "这是第二句！"}},
		{"quotes close", `He said "Stop." Then he left.`, []string{`He said "Stop."`, "Then he left."}},
		{"initials before a verb", "J. R. Smith wrote it. It sold.", []string{"J. R. Smith wrote it.", "It sold."}},
		{"nothing", "  \n ", nil},
		{"numbered items with sentences", "Do this:\n1. Open it. Look.\n2. Close it.",
			[]string{"Do this:", "1. Open it.", "Look.", "2. Close it."}},
		{"a dash amid a line", "The plan - the old one - went on.\nIt ended.", []string{"The plan - the old one - went on.", "It ended."}},
		{"firms", "Contoso Inc. Sells shoes. It is owned by Fabrikam Ltd. They agree.",
			[]string{"Contoso Inc. Sells shoes.", "It is owned by Fabrikam Ltd.", "They agree."}},
		{"dates", "On Jan. 5 it snowed. By Feb. It was gone.", []string{"On Jan. 5 it snowed.", "By Feb.", "It was gone."}},
		{"days before a month", "Er verfällt am 31. März. Es sind 20. Mehr nicht.",
			[]string{"Er verfällt am 31. März.", "Es sind 20.", "Mehr nicht."}},
		{"ordinals in German", "Aufgenommen wird, wer das 16. Lebensjahr vollendet hat. Bis zum 15. Danach nicht. Es sind 12. Alle kommen.",
			[]string{"Aufgenommen wird, wer das 16. Lebensjahr vollendet hat.", "Bis zum 15.", "Danach nicht.", "Es sind 12.", "Alle kommen."}},
		{"abbreviations of single letters", "Der Garten e. V. hat Beete, z. B. Tomaten. Ende.", []string{"Der Garten e. V. hat Beete, z. B. Tomaten.", "Ende."}},
		{"words that begin with a full stop", "It deletes all .log and .LCK files (”.tmp” too). Use .NET or Red Hat/... Linux. Done.",
			[]string{"It deletes all .log and .LCK files (”.tmp” too).", "Use .NET or Red Hat/... Linux.", "Done."}},
		{"bytes that are no text", "One\xff. Two\xfe.", []string{"One\xff.", "Two\xfe."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, sp := range Sentences(tt.text) {
				got = append(got, tt.text[sp.Start:sp.End])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
