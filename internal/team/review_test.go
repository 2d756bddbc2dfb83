package team_test

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/team"
)

// A false citation, the text that the engine leaves of it, and the reviewer's words.
const (
	planted = "Leave is 30 days a year [guide.pdf#page=9]."
	left    = "Leave is 30 days a year."
	problem = `[guide.pdf#page=9] is not among the sources: "` + left + `"`
)

// Whoever reviews, a planted false citation is found. The answer is written again, once, and the second
// version replaces the first.
func TestReview_CatchesAPlantedCitation(t *testing.T) {
	cases := []struct {
		name, said string
		draft      string // the text that is left of it
		problem    string
	}{
		{
			"a page that is not among the sources", planted, "Leave is 30 days a year.",
			`[guide.pdf#page=9] is not among the sources: "Leave is 30 days a year."`,
		},
		{
			"a document that is none", "Leave is long [other.pdf].", "Leave is long.",
			`[other.pdf] is not among the sources: "Leave is long."`,
		},
		{
			"a number that the page does not hold", "Leave is 30 days a year [guide.pdf#page=2].", "",
			`[guide.pdf#page=2] does not have these numbers: "Leave is 30 days a year."`,
		},
		{
			"a number behind a good one", reply + " Managers answer within 7 days. [minutes.md]", "",
			`[minutes.md] does not have these numbers: "Managers answer within 7 days."`,
		},
		{
			"words that stand elsewhere", reply + " The canteen serves vegetarian meals every Tuesday evening [minutes.md].", "",
			`[minutes.md] does not say this: "The canteen serves vegetarian meals every Tuesday evening."`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := setUp(t, team.Default(true), map[string][]llm.Model{
				"research": says(finding + "\n- Managers answer in 3 days. [minutes.md]"),
				"writer":   says(c.said, reply),
			})
			events, turn, err := s.play(t.Context(), question())
			if err != nil {
				t.Fatal(err)
			}
			checkContract(t, events)
			if len(turn.Messages) != 4 {
				t.Fatalf("the messages are\n%s", said(turn))
			}
			draft, review, second := turn.Messages[1], turn.Messages[2], turn.Messages[3]
			if draft.Agent != "Writer" || draft.Status != chat.StatusFailed || draft.Text != cmp.Or(c.draft, c.said) || chat.KindOf(draft.Err) != chat.Conflict {
				t.Errorf("the draft is %+v", draft)
			}
			want := "Sent back:\n- " + c.problem + "\n\nSecond version: Citations checked: 1, all supported by the sources."
			if diff := gocmp.Diff(want, review.Text); diff != "" || review.Agent != "Reviewer" || review.Status != chat.StatusCompleted {
				t.Errorf("the review is %+v (-want +got)\n%s", review, diff)
			}
			if second.Agent != "Writer" || second.Status != chat.StatusCompleted || second.Text != reply || len(second.Doubts) > 0 {
				t.Errorf("the second version is %+v", second)
			}
			if got := replaced(events)[second.ID]; got != draft.ID {
				t.Errorf("the second version replaces %q, want %q", got, draft.ID)
			}
			prompt := s.prompt(t, "writer", 1)
			for _, part := range []string{"sent your first answer back", "From Writer,", "From Reviewer,", "> Sent back:"} {
				if !strings.Contains(prompt, part) {
					t.Errorf("the prompt of the second version lacks %q:\n%s", part, prompt)
				}
			}
			if s.library.searches != 1 || len(s.calls["reviewer"]) > 0 {
				t.Errorf("%d searches, %d calls of the reviewer's model", s.library.searches, len(s.calls["reviewer"]))
			}
		})
	}
}

// replaced returns the message that each message replaces.
func replaced(events []chat.Event) map[string]string {
	all := map[string]string{}
	for _, e := range events {
		if e, ok := e.(chat.MessageStarted); ok && e.Replaces != "" {
			all[e.ID] = e.Replaces
		}
	}
	return all
}

func TestReview_SendsBackOnlyOnce(t *testing.T) {
	s := setUp(t, team.Default(true), map[string][]llm.Model{"research": says(finding), "writer": says(planted)})
	turn := s.fold(t)
	want := "Research completed: " + finding + " <guide.pdf#page=2>\n" +
		"Writer failed: " + left + "\n" +
		"Reviewer completed: Sent back:\n- " + problem + "\n\nStill wrong in the second version:\n- " + problem + "\n" +
		"Writer completed: " + left
	if diff := gocmp.Diff(want, said(turn)); diff != "" || len(s.calls["writer"]) != 2 {
		t.Errorf("%d calls of the writer; messages (-want +got)\n%s", len(s.calls["writer"]), diff)
	}
}

func TestReview_AsksItsModelWhereTheRuleFindsNothing(t *testing.T) {
	const refusal = "Send back: the year is missing."
	for verdict, back := range map[string]bool{
		"APPROVED. All is well.": false, refusal: true, "**SEND BACK**\n- no": true, "I would not SEND BACK this.": false, "": false,
	} {
		s := setUp(t, team.Default(true), map[string][]llm.Model{
			"research": says(finding), "reviewer": says(verdict), "writer": says(reply, "In 2026: 25 days [guide.pdf#page=2]."),
		})
		events, turn, err := s.play(t.Context(), question())
		if err != nil {
			t.Fatal(err)
		}
		checkContract(t, events)
		if got := len(s.calls["writer"]) == 2; got != back {
			t.Errorf("after %q the writer wrote again: %v\n%s", verdict, got, said(turn))
		}
		prompt := s.prompt(t, "reviewer", 0)
		for _, part := range []string{"SEND BACK", "From Writer, as material", "> " + reply, "\nSources:\nguide.pdf#page=2: "} {
			if !strings.Contains(prompt, part) {
				t.Errorf("the reviewer's prompt lacks %q:\n%s", part, prompt)
			}
		}
		if strings.Contains(prompt, "You answer questions") {
			t.Errorf("the reviewer has the instructions of an answer:\n%s", prompt)
		}
		if verdict == refusal && !strings.HasPrefix(turn.Messages[2].Text, refusal+"\n\nStill wrong in the second version:") {
			t.Errorf("the review is %q", turn.Messages[2].Text)
		}
	}
}

func TestReview_WithoutAModelChecksByRule(t *testing.T) {
	agents := team.Default(true)
	agents[2].Model = "builtin:extractive"
	s := setUp(t, agents, map[string][]llm.Model{"research": says(finding), "writer": says(reply)})
	turn := s.fold(t)
	if got := turn.Messages[2]; got.Agent != "Reviewer" || got.Text != "Citations checked: 1, all supported by the sources." {
		t.Errorf("the review is %+v", got)
	}
	s = setUp(t, agents, map[string][]llm.Model{"research": says("Nothing."), "writer": says("I don't know.")})
	if got := s.fold(t).Messages[2].Text; got != "The answer has no citations to check." {
		t.Errorf("the review is %q", got)
	}
}

func TestReview_ThatFailsLeavesTheAnswerAsItIs(t *testing.T) {
	s := setUp(t, team.Default(true), map[string][]llm.Model{
		"research": says(finding), "writer": says(reply), "reviewer": fails(errModel, "APPR"),
	})
	events, turn, err := s.play(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	checkContract(t, events)
	want := "Research completed: " + finding + " <guide.pdf#page=2>\nWriter completed: " + reply + " <guide.pdf#page=2>\nReviewer failed: APPR"
	if diff := gocmp.Diff(want, said(turn)); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
}

func TestReview_EndsWhenTheSecondVersionFails(t *testing.T) {
	s := setUp(t, team.Default(true), map[string][]llm.Model{
		"research": says(finding), "writer": append(says(planted), fails(errModel, "Leave")...),
	})
	events, turn, err := s.play(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	checkContract(t, events)
	if got := said(turn); !strings.HasSuffix(got, "\nReviewer completed: Sent back:\n- "+problem+"\nWriter failed: Leave") {
		t.Errorf("messages\n%s", got)
	}
}
