package team_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/team"
)

// slow is a model that waits for d before it answers.
func slow(d time.Duration, text string) []llm.Model { return []llm.Model{lag{d, llmtest.Says(text)}} }

type lag struct {
	d time.Duration
	llm.Model
}

func (l lag) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		select {
		case <-time.After(l.d):
			l.Model.Stream(ctx, req)(yield)
		case <-ctx.Done():
			yield(llm.Chunk{}, ctx.Err())
		}
	}
}

// order tells when messages began and ended, in whole seconds.
func order(ctx context.Context, t *testing.T, s *stage) string {
	t.Helper()
	var out []string
	names := map[string]string{}
	start := time.Now()
	for e, err := range s.team.Run(ctx, new(question())) {
		at := " at " + time.Since(start).Truncate(time.Second).String()
		if err != nil {
			out = append(out, "error"+at)
			break
		}
		switch e := e.(type) {
		case chat.MessageStarted:
			names[e.ID] = e.Agent
			out = append(out, "+"+e.Agent+at)
		case chat.MessageFinished:
			out = append(out, "-"+e.Agent+" "+string(e.Status)+at)
		}
	}
	return strings.Join(out, ", ")
}

func TestRun_AgentsThatDoNotHearEachOtherWorkSideBySide(t *testing.T) {
	agents := []team.Agent{
		{Name: "Law", Retrieves: true},
		{Name: "Money", Retrieves: true, Hears: []string{}},
		{Name: "Writer", Hears: []string{"Money", "Law"}},
		{Name: "Last"},
	}
	parts := map[string][]llm.Model{"law": slow(3*time.Second, "law [guide.pdf#page=2]"), "money": slow(2*time.Second, "money [minutes.md]"),
		"writer": slow(time.Second, "both [minutes.md]"), "last": slow(time.Second, "end")}
	synctest.Test(t, func(t *testing.T) {
		s := setUp(t, agents, parts)
		want := "-Money completed at 2s, -Law completed at 3s, +Writer at 3s, -Writer completed at 4s, +Last at 4s, -Last completed at 5s"
		got := order(t.Context(), t, s)
		begun, rest, _ := strings.Cut(got, ", -")
		if diff := cmp.Diff(want, "-"+rest); diff != "" || begun != "+Law at 0s, +Money at 0s" && begun != "+Money at 0s, +Law at 0s" {
			t.Errorf("begun %s (-want +got)\n%s", begun, diff)
		}
		prompt := s.prompt(t, "writer", 0)
		for _, part := range []string{"From Money, as", "From Law, as", "guide.pdf#page=2: Leave", "minutes.md: Requests"} {
			if !strings.Contains(prompt, part) {
				t.Errorf("the writer's prompt lacks %q:\n%s", part, prompt)
			}
		}
		if prompt := s.prompt(t, "last", 0); strings.Count(prompt, "From ") != 3 || !strings.Contains(prompt, "guide.pdf#page=2: ") {
			t.Errorf("the last agent's prompt is\n%s", prompt)
		}
	})
}

func TestRun_AnAgentThatHearsNobodyAndDoesNotRetrieveHasNoSources(t *testing.T) {
	s := setUp(t, []team.Agent{{Name: "Planner", Hears: []string{}}}, map[string][]llm.Model{"planner": says("A plan.")})
	s.fold(t)
	if prompt := s.prompt(t, "planner", 0); !strings.HasSuffix(prompt, "\n\nSources:\n") || s.library.searches > 0 {
		t.Errorf("%d searches; the prompt is\n%s", s.library.searches, prompt)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Half a second of the time is reserved for an orderly end.
func TestRun_GivesEachAgentItsShareOfTheTime(t *testing.T) {
	never := time.Hour
	cases := []struct {
		name             string
		agents           []team.Agent
		research, writer time.Duration
		review           time.Duration
		within           time.Duration
		want             string
	}{
		{
			"all in time", team.Default(true), 5 * time.Second, 5 * time.Second, 5 * time.Second, 28500 * time.Millisecond,
			"+Research at 0s, -Research completed at 5s, +Writer at 5s, +Reviewer at 10s, -Writer completed at 15s, -Reviewer completed at 15s",
		},
		{
			"half for Research, the rest for Writer", team.Default(false), never, never, 0, 28500 * time.Millisecond,
			"+Research at 0s, -Research failed at 14s, +Writer at 14s, -Writer failed at 28s, error at 28s",
		},
		{
			"what Research leaves is Writer's", team.Default(false), 4 * time.Second, never, 0, 28500 * time.Millisecond,
			"+Research at 0s, -Research completed at 4s, +Writer at 4s, -Writer failed at 28s",
		},
		{
			"the reviewer is skipped when time is short", team.Default(true), 10 * time.Second, 11 * time.Second, never, 28500 * time.Millisecond,
			"+Research at 0s, -Research completed at 10s, +Writer at 10s, -Writer completed at 21s",
		},
		{
			"the reviewer gets half of the rest", team.Default(true), 4 * time.Second, 4 * time.Second, never, 28500 * time.Millisecond,
			"+Research at 0s, -Research completed at 4s, +Writer at 4s, +Reviewer at 8s, -Reviewer failed at 18s, -Writer completed at 18s",
		},
		{
			"by weight", []team.Agent{{Name: "Research", Retrieves: true, Share: 1}, {Name: "Writer", Share: 3}}, never, never, 0, 20500 * time.Millisecond,
			"+Research at 0s, -Research failed at 5s, +Writer at 5s, -Writer failed at 20s, error at 20s",
		},
		{
			"an agent that may be skipped has no share", []team.Agent{{Name: "Research", Retrieves: true}, {Name: "Writer", SkipBelow: 2 * time.Second}},
			9 * time.Second, never, 0, 10500 * time.Millisecond,
			"+Research at 0s, -Research completed at 9s",
		},
		{
			"no time at all", team.Default(false), never, never, 0, 100 * time.Millisecond,
			"error at 0s",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setUp(t, c.agents, map[string][]llm.Model{
					"research": slow(c.research, finding), "writer": slow(c.writer, reply), "reviewer": slow(c.review, "APPROVED"),
				})
				if diff := cmp.Diff(c.want, order(within(t, c.within), t, s)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

func TestRun_SendsNothingBackWhenTimeIsShort(t *testing.T) {
	agents := team.Default(true)
	agents[2].SkipBelow = time.Second
	synctest.Test(t, func(t *testing.T) {
		s := setUp(t, agents, map[string][]llm.Model{"research": says(finding), "writer": slow(8*time.Second, planted)})
		want := "+Research at 0s, -Research completed at 0s, +Writer at 0s, +Reviewer at 8s, -Writer completed at 8s, -Reviewer completed at 8s"
		if diff := cmp.Diff(want, order(within(t, 10500*time.Millisecond), t, s)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestRun_EndsEveryAgentWhenTheConsumerLeavesOrTheContextEnds(t *testing.T) {
	agents := []team.Agent{{Name: "A", Retrieves: true}, {Name: "B", Retrieves: true, Hears: []string{}}, {Name: "C"}}
	hangs := func() map[string][]llm.Model {
		return map[string][]llm.Model{"a": {llmtest.Hangs(nil, "x")}, "b": {llmtest.Hangs(nil, "y")}, "c": says("z")}
	}
	t.Run("the consumer leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := setUp(t, agents, hangs())
			spoken := 0
			for e := range s.team.Run(t.Context(), new(question())) {
				if _, ok := e.(chat.TextDelta); ok {
					if spoken++; spoken == 2 {
						break
					}
				}
			}
			s.idle(t)
		})
	})
	t.Run("the consumer panics", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := setUp(t, agents, hangs())
			defer func() {
				if recover() != "mine" {
					t.Error("the panic was lost")
				}
				s.idle(t)
			}()
			for range s.team.Run(t.Context(), new(question())) {
				panic("mine")
			}
		})
	})
	t.Run("the context is cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := setUp(t, agents, hangs())
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, turn, err := s.play(ctx, question())
			if !errors.Is(err, context.Canceled) || len(turn.Messages) != 2 {
				t.Errorf("%v after\n%s", err, said(turn))
			}
			s.idle(t)
		})
	})
}

// idle checks that no model is at work. The end of the bubble checks the same of goroutines.
func (s *stage) idle(t *testing.T) {
	t.Helper()
	for name, parts := range s.parts {
		for _, p := range parts {
			if m, ok := p.(*llmtest.Model); ok && m.Active() > 0 {
				t.Errorf("the model %s is still at work", name)
			}
		}
	}
}

func TestNew_SaysWhatIsWrongWithAnAgent(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	cases := map[string]struct {
		agents []team.Agent
		want   string
	}{
		"none":                 {nil, "no agent that answers"},
		"no name":              {[]team.Agent{{}}, "needs a name"},
		"long name":            {[]team.Agent{{Name: long}}, "needs a name"},
		"long instructions":    {[]team.Agent{{Name: "A", Instructions: long}}, "instructions are longer"},
		"twice":                {[]team.Agent{{Name: "A"}, {Name: "A"}}, `agent 2 ("A"): another agent has that name`},
		"hears a later one":    {[]team.Agent{{Name: "A", Hears: []string{"B"}}, {Name: "B"}}, `hears "B"`},
		"hears itself":         {[]team.Agent{{Name: "A", Hears: []string{"A"}}}, `hears "A"`},
		"hears a reviewer":     {[]team.Agent{{Name: "A"}, {Name: "R", Reviews: "A"}, {Name: "B", Hears: []string{"R"}}}, `hears "R"`},
		"reviews nobody":       {[]team.Agent{{Name: "A"}, {Name: "R", Reviews: "B"}}, `reviews "B"`},
		"two reviewers":        {[]team.Agent{{Name: "A"}, {Name: "R", Reviews: "A"}, {Name: "S", Reviews: "A"}}, "has a reviewer already"},
		"reviewer's own name":  {[]team.Agent{{Name: "A"}, {Name: "A", Reviews: "A"}}, "another agent has that name"},
		"reviewer's name":      {[]team.Agent{{Name: "A"}, {Name: "R", Reviews: "A"}, {Name: "R"}}, "another agent has that name"},
		"reviewer that hears":  {[]team.Agent{{Name: "A"}, {Name: "R", Reviews: "A", Hears: []string{"A"}}}, "neither retrieves nor hears"},
		"reviewer that finds":  {[]team.Agent{{Name: "A"}, {Name: "R", Reviews: "A", Retrieves: true}}, "neither retrieves nor hears"},
		"only reviewers":       {[]team.Agent{{Name: "R", Reviews: "R"}}, `reviews "R"`},
		"negative share":       {[]team.Agent{{Name: "A", Share: -1}}, "share"},
		"negative time":        {[]team.Agent{{Name: "A", SkipBelow: -1}}, "skipped"},
		"too many":             {make([]team.Agent, 17), "more than 16"},
		"the second is at odd": {[]team.Agent{{Name: "A"}, {Name: ""}}, "agent 2"},
	}
	for name, c := range cases {
		if _, err := team.New(nil, team.Config{Agents: c.agents}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}
