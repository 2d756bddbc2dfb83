package azurechat

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// component does with deltas what the parser of the JavaScript sample's web component does
// (packages/chat-component/src/core/parser/index.ts of Azure-Samples/azure-search-openai-javascript).
type component struct {
	raw       string
	citations []string // below the answer: of all deltas, as of the last one that was not kept or a mark
	blocks    []block
	questions []string

	numbers          []string
	stepping, asking bool
	marked           bool // a mark of follow-up questions was seen
	at, step, asked  int
}

type block struct {
	text  string
	steps []string
}

func newComponent() *component { return &component{blocks: []block{{}}} }

var firstNumber = regexp.MustCompile(`[0-9]+`)

func (c *component) read(delta string) error {
	if delta == "" {
		return nil
	}
	passed, err := c.take(delta)
	if passed {
		c.citations = inBrackets.FindAllString(c.raw, -1)
	}
	return err
}

// take reports whether the parser came to the end of what it does with a delta.
func (c *component) take(delta string) (passed bool, err error) {
	c.raw += delta
	if n := firstNumber.FindString(delta); n != "" {
		c.numbers = append(c.numbers, n)
		return false, nil
	}
	switch {
	case !c.asking && strings.Contains(delta, "Next"), strings.Contains(delta, "<<"), c.marked && strings.Contains(delta, "Question"):
		c.asking, c.marked = true, true
		return false, nil
	case strings.Contains(delta, ">\n"):
		c.asked, c.asking = c.asked+1, true
		return false, nil
	case c.asking:
		delta = strings.ReplaceAll(strings.Replace(strings.Replace(delta, ":\n", "", 1), "\n", "", 1), ">", "")
	}
	begins, ends := len(c.numbers) > 0 && strings.Contains(delta, "."), false
	switch {
	case begins:
		n, _ := strconv.Atoi(c.numbers[0])
		c.stepping, c.numbers, delta, c.step = true, nil, "", n-1
	case strings.Contains(delta, "\n\n"):
		ends = c.stepping
	}
	if !begins && !c.stepping && !c.asking {
		c.blocks = put(c.blocks, c.at, func(b block) block { return block{b.text + delta, b.steps} })
		return true, nil
	}
	switch {
	case c.asking:
		c.questions = put(c.questions, c.asked, func(q string) string { return q + delta })
	case c.at < len(c.blocks):
		if c.step < 0 {
			return false, fmt.Errorf("step %d", c.step+1)
		}
		b := c.blocks[c.at]
		b.steps = put(b.steps, c.step, func(s string) string { return s + delta })
		c.blocks[c.at] = b
	}
	if ends {
		c.stepping, c.asking, c.step = false, false, 0
		c.at++
	}
	return true, nil
}

// put changes an element, or adds one where there is none with that index.
func put[T any](list []T, i int, change func(T) T) []T {
	var e T
	if i < len(list) {
		e = list[i]
	}
	return slices.Concat(list[:min(i, len(list))], []T{change(e)}, list[min(i+1, len(list)):])
}

// shown is all that is on the page, in order.
func (c *component) shown() (page string) {
	for _, b := range c.blocks {
		page += b.text + strings.Join(b.steps, "")
	}
	return page
}

var (
	inBrackets = regexp.MustCompile(`\[(.*?)\]`)
	comment    = regexp.MustCompile(`<!--.*?-->`)
	// unshown is what no cut has shown, or has shown in its place: citations, digits, stops, space.
	unshown = regexp.MustCompile(`\[[^\[\]]*(?:#page=[0-9]*|\.md|\.docx)\]|[0-9.\s]`)
)

func prose(text string) string { return unshown.ReplaceAllString(text, "") }

var labelsOfAnswers = []string{"guide.md", "dir/Rules 2024.docx", "notes v2.1.md"}

// sentences are what answers are made of: numbers in all places, citations with and without pages,
// steps, code and other languages.
var sentences = []string{
	"Leave is 25 days a year [handbook.pdf#page=3].", "Everybody has it.", "It rose by 3.5 % in 2024 [report-2024.pdf#page=12][guide.md].",
	"0 days are carried over.", "0.5 of it counts.", "The fee is $1,234.50 [fees.pdf#page=1], not €99.", "See section 4.2.1 [dir/Rules 2024.docx].",
	"On 2024-01-05 at 10:30 it began [guide.md].", "Version v1.2.3 needs Go 1.26 [notes v2.1.md].", "No. 7 is free.", "He asked \"Why?\" and left…",
	"1. Open the door.", "2. Close it [handbook.pdf#page=25].", "3. Go", "10. Rest.", "- item 1 of 3", "* no number.", "  1) nested",
	"Der Urlaub beträgt 30 Tage [handbuch.pdf#page=4].", "Es gilt § 5 Abs. 2.", "年次休暇は25日です [規則.pdf#page=2]。", "Отпуск — 28 дней [a.pdf#page=9].",
	"Next, ask 2 people. Next!", "Any Questions? Question 2 is open.", "Shift `1 << 3` and `a<<b`.", "<b>\nbold</b>", "x -->\ny 5.", "| a | 1.5 |\n|---|---|\n| b | 2 |",
	"[Section 4](https://a.example/4.html) says so.", "arr[0] = 1.", "[x] done 2.", "[ unclosed 3.", "...", "5", ".", "e.g. i.e. a.m.", "See [handbook.pdf#page=3] p. 4.",
	"```go\nx := 1.5\n\ny := a[2]\n```", "Steps 1 and 2:", "Then:\n\n1. First.\n2. Second 2.\n3. Third [a.pdf#page=3].\n\nThat is 3 in all.",
}

var asks = []string{"What about 2024?", "Which Question is a.pdf 2. about?", "Who is next? Next Question", "How much is 3.5 % of it.", "Was kostet es?"}

// TestWebComponent_ShowsAllProse runs 200 answers, and more, through the rules of its parser.
func TestWebComponent_ShowsAllProse(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 0)) // the same answers in every run
	var answers []string
	answers = append(answers, sentences...)
	for range 2000 {
		answer := ""
		for range 1 + r.IntN(12) {
			answer += sentences[r.IntN(len(sentences))] + []string{" ", " ", "\n", "\n\n", "\n\n\n"}[r.IntN(5)]
		}
		answers = append(answers, answer)
	}
	for _, answer := range answers {
		var questions []string
		for range r.IntN(4) {
			questions = append(questions, asks[r.IntN(len(asks))])
		}
		for _, most := range []int{1, 5, 1000} {
			checkShown(t, r, answer, most, questions)
		}
	}
}

func checkShown(t *testing.T, r *rand.Rand, answer string, most int, questions []string) {
	t.Helper()
	client, sent := newComponent(), []string{}
	send := func(delta string) error {
		sent = append(sent, delta)
		return client.read(delta)
	}
	cut := cutter{isLabel: func(label string) bool { return slices.Contains(labelsOfAnswers, label) }}
	var err error
	for runes := []rune(answer); len(runes) > 0 && err == nil; {
		n := min(len(runes), 1+r.IntN(most))
		err = cut.add(string(runes[:n]), send)
		runes = runes[n:]
	}
	if err == nil {
		err = cut.end(send)
	}
	if err == nil {
		err = cut.ask(questions, send)
	}
	if err != nil {
		t.Fatalf("%q sent as %q: %v", answer, sent, err)
	}
	if diff := cmp.Diff(prose(answer), prose(client.shown())); diff != "" {
		t.Fatalf("%q sent as %q\nshown (-want +got): %s", answer, sent, diff)
	}
	listed := client.citations
	if strings.Contains(answer, "[ unclosed") { // which takes in what comes up to the next bracket
		for i, l := range listed {
			listed[i] = comment.ReplaceAllString(l, "")
		}
	}
	if diff := cmp.Diff(inBrackets.FindAllString(answer, -1), listed); diff != "" {
		t.Fatalf("%q: citations (-want +got): %s", answer, diff)
	}
	joined := comment.ReplaceAllString(client.raw, "")
	if i := strings.LastIndex(joined, "\n\n<<"); len(questions) > 0 {
		joined = joined[:i]
	}
	if strings.Join(strings.Fields(joined), " ") != strings.Join(strings.Fields(strings.ReplaceAll(answer, "-->", "")), " ") && !strings.Contains(answer, "-->") {
		t.Fatalf("%q is sent as %q", answer, sent)
	}
	for i, q := range questions {
		if i >= len(client.questions) || prose(client.questions[i]) != prose(q) {
			t.Fatalf("%q: asked %q, shown %q of %q", answer, questions, client.questions, sent)
		}
	}
}

// TestWebComponent_NumbersSteps shows that a list is one, also when numbers come before.
func TestWebComponent_NumbersSteps(t *testing.T) {
	client := newComponent()
	cut := cutter{}
	for _, d := range []string{"It takes 25 days.\n\n", "1. Open.\n", "2. Close [a.pdf#page=7].\n\n", "Done."} {
		if err := cut.add(d, client.read); err != nil {
			t.Fatal(err)
		}
	}
	got := fmt.Sprintf("%q", client.blocks)
	if got != `[{"It takes  days" ["\n\n"]} {"\n" [" Open.\n" " Close \n\n"]} {"Done." []}]` {
		t.Error(got)
	}
}

// The parser reads citations only with a delta that it does not keep as a number.
func TestWebComponent_ListsTheCitationThatEndsAnAnswer(t *testing.T) {
	for _, answer := range []string{"Leave is paid [a.pdf#page=3]", "It is 25 [a.pdf#page=3][b 2.pdf#page=4]", "1. Ask. [a.pdf#page=3]", "[a.pdf#page=3]"} {
		for most := 1; most < 40; most += 7 {
			checkShown(t, rand.New(rand.NewPCG(uint64(most), 0)), answer, most, nil)
		}
	}
}
