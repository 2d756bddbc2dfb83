package cite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

func page(name string, number int, text string) retrieval.Passage {
	return retrieval.Passage{
		Document: retrieval.Document{Name: name, Title: name},
		Chunk:    retrieval.Chunk{Text: text, Spans: []retrieval.Span{{Page: number, End: len(text)}}},
	}
}

var supporting = []retrieval.Passage{
	page("leave.pdf", 1, "Employees receive 25 days of paid leave each year. Unused days expire on 31 March of the following year, unless the manager approves a transfer in writing."),
	page("leave.pdf", 2, "Parental leave lasts up to fourteen weeks and is paid at 80% of the salary. The request goes to the personnel office three months before."),
	page("travel.md", 0, "Flights are booked through the travel desk. A hotel may cost $1,250.00 at most for a week in one city."),
	page("urlaub.md", 0, "Alle Beschäftigten erhalten fünfundzwanzig Tage bezahlten Urlaub. Nicht genommene Urlaubstage verfallen am Jahresende, wenn die Führungskraft nicht zustimmt."),
	page("休假.md", 0, "员工每年享有二十五天带薪年假。未使用的年假在次年三月底失效。"),
}

func TestSupport(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         []string // labels and reasons
	}{
		{"the page's own words", "Employees receive 25 days of paid leave each year [leave.pdf#page=1].", nil},
		{"other words", "Staff get 25 days of paid leave a year, and days they do not use expire in March [leave.pdf#page=1].", nil},
		{"the citation behind the stop", "Unused days expire on 31 March of the following year. [leave.pdf#page=1]", nil},
		{"another page", "Unused days expire on 31 March, unless the manager approves a transfer [travel.md].", []string{"travel.md numbers"}},
		{"another page, without numbers", "Unused days expire unless the manager approves a transfer in writing [travel.md].", []string{"travel.md words"}},
		{"another number", "Employees receive 30 days of paid leave each year [leave.pdf#page=1].", []string{"leave.pdf#page=1 numbers"}},
		{"another share", "Parental leave is paid at 90% of the salary [leave.pdf#page=2].", []string{"leave.pdf#page=2 numbers"}},
		{"a number in another form", "A hotel may cost $1250 at most for a week [travel.md].", nil},
		{"a number in letters", "The request goes to the personnel office 3 months before parental leave [leave.pdf#page=2].", nil},
		{"the number of an item", "Do this:\n1. Book flights through the travel desk [travel.md].\n2. Ask for parental leave at the personnel office [leave.pdf#page=2].", nil},
		{"a number of the question", "In 2026 employees receive 25 days of paid leave each year [leave.pdf#page=1].", nil},
		{"a short sentence", "Yes, it does [travel.md].", nil},
		{"no sentence", "Sources:\n- [travel.md]\n- [leave.pdf#page=1]", nil},
		{"two pages for one sentence", "Employees receive paid leave each year and parental leave is paid at 80% of the salary [leave.pdf#page=1][leave.pdf#page=2].", nil},
		{"one of two is wrong", "Unused days expire unless the manager approves a transfer in writing [leave.pdf#page=1][travel.md].", []string{"travel.md words"}},
		{"a citation for the sentences before it", "Flights are booked through the travel desk. That holds for everyone who works from the office in another city [travel.md].", nil},
		{"not for those of another paragraph", "Flights are booked through the travel desk.\n\nThe kitchen serves vegetarian meals during lunch on weekdays [travel.md].", []string{"travel.md words"}},
		{"a row of a table", "| topic | rule |\n|---|---|\n| paid leave each year | 25 days [leave.pdf#page=1] |\n| kitchen opening hours weekdays | 7 to 9 [travel.md] |", []string{"travel.md numbers"}},
		{"the name of the document says nothing", "Travel md travel kitchen serves vegetarian lunch [travel.md].", []string{"travel.md words"}},
		{"another language", "Die Angestellten bekommen jedes Jahr bezahlten Urlaub und dürfen ihn übertragen [leave.pdf#page=1].", nil},
		{"another language, another number", "Die Angestellten bekommen in jedem Jahr 30 Tage bezahlten Urlaub [leave.pdf#page=1].", []string{"leave.pdf#page=1 numbers"}},
		{"another script", "员工每年享有带薪年假，未使用的年假会失效 [leave.pdf#page=1].", nil},
		{"inflected German", "Ein Beschäftigter erhält bezahlte Urlaubstage, die am Jahresende verfallen [urlaub.md].", nil},
		{"German on something else", "Die Kantine bietet vegetarische Gerichte und frischen Salat am Mittag [urlaub.md].", []string{"urlaub.md words"}},
		{"Chinese", "未使用的年假在次年三月底失效 [休假.md]。", nil},
		{"Chinese on something else", "公司食堂中午提供素食和新鲜水果沙拉 [休假.md]。", []string{"休假.md words"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claims := claimsOf(c.answer, Citable(supporting))
			var got []string
			for _, d := range support(claims, pageWords(claims, supporting), wordsOf("How is leave in 2026?")) {
				got = append(got, d.Label+" "+d.Reason)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClaimsOf_GivesEachCitationItsSentence(t *testing.T) {
	known := Citable(supporting)
	const a, b = "[leave.pdf#page=1]", "[travel.md]"
	for _, c := range []struct {
		name, answer string
		want         []claim
	}{
		{"none", "Leave is long.", nil},
		{"in the sentence", "One " + a + " is. Two is.", []claim{{text: "One  is.", labels: []string{"leave.pdf#page=1"}}}},
		{"behind the sentence", "One is. " + a + " Two is. " + b, []claim{
			{text: "One is.", labels: []string{"leave.pdf#page=1"}}, {text: "Two is.", labels: []string{"travel.md"}}}},
		{"several sentences", "Zero is. One is. Two is " + b + ".", []claim{
			{text: "Two is.", before: "Zero is. One is.", labels: []string{"travel.md"}}}},
		{"the same sentence again", "One " + a + " and two " + b + ".", []claim{
			{text: "One  and two.", labels: []string{"leave.pdf#page=1", "travel.md"}}}},
		{"at the beginning", a + " says that it is.", []claim{{text: "says that it is.", labels: []string{"leave.pdf#page=1"}}}},
		{"on a line of its own", "It is.\n\n" + a, nil},
		{"items", "- one thing " + a + "\n- two things " + b, []claim{
			{text: "- one thing", labels: []string{"leave.pdf#page=1"}}, {text: "- two things", labels: []string{"travel.md"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, claimsOf(c.answer, known), cmp.AllowUnexported(claim{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
