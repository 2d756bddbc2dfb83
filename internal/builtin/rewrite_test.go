package builtin

import (
	"context"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/text"
)

// rewrite rewrites the last of the texts, which speak for the user and the assistant in turns.
func rewrite(texts ...string) chat.QueryRewritten {
	last := len(texts) - 1
	return Rewrite(context.Background(), conversation(texts[:last]...), texts[last])
}

func TestRewrite_PutsTheTopicInThePlaceOfAPronoun(t *testing.T) {
	const named, unnamed = 0.9, 0.7
	tower := []string{"What is the Eiffel Tower?", "A tower in Paris. [paris.pdf#page=3]"}
	curie := []string{"Who was Marie Curie?", "A physicist. [curie.md]"}
	policy := []string{"what is the parental leave policy?", "It grants leave. [hr.md]"}
	for _, c := range []struct {
		history    []string
		in, want   string
		confidence float64
	}{
		{tower, "How tall is it?", "How tall is the Eiffel Tower?", named},
		{tower, "When was it built?", "When was the Eiffel Tower built?", named},
		{tower, "HOW TALL IS IT?", "HOW TALL IS the Eiffel Tower?", named},
		{tower, "What's it made of?", "What's the Eiffel Tower made of?", named},
		{tower, "What is its height?", "What is the Eiffel Tower's height?", named},
		{tower, "What about its lifts?", "What about the Eiffel Tower's lifts?", named},
		{tower, "What is its cost?", "What is the Eiffel Tower's cost?", named},
		{tower, "Does this cost money?", "Does the Eiffel Tower cost money?", named},
		{tower, "It costs how much?", "the Eiffel Tower costs how much?", named},
		{tower, "Compare it with the Louvre", "Compare the Eiffel Tower with the Louvre", named},
		{tower, "Can you tell me whether it is open?", "Can you tell me whether the Eiffel Tower is open?", named},
		{curie, "Where did she study?", "Where did Marie Curie study?", named},
		{curie, "What was her first discovery?", "What was Marie Curie's first discovery?", named},
		{curie, "Who married her?", "Who married Marie Curie?", named},
		{policy, "Who is entitled to it?", "Who is entitled to the parental leave policy?", unnamed},
		{policy, "What are its limits?", "What are the parental leave policy's limits?", unnamed},
	} {
		got := rewrite(append(c.history[:2:2], c.in)...)
		if got.Original != c.in || got.Query != c.want || !got.Rewritten || got.Confidence != c.confidence {
			t.Errorf("%q after %q: %+v, want %q with %v", c.in, c.history[0], got, c.want, c.confidence)
		}
		if !strings.Contains(got.Reason, "the topic stands for") {
			t.Errorf("%q: reason %q", c.in, got.Reason)
		}
	}
}

func TestRewrite_LeavesAloneWhatStandsAlone(t *testing.T) {
	tower := []string{"What is the Eiffel Tower?", "A tower in Paris."}
	for _, c := range []struct {
		name    string
		history []string
		in      string
	}{
		{"no history", nil, "How tall is it?"},
		{"a greeting before it", []string{"Hello there", "Hi"}, "How tall is it?"},
		{"only a citation before it", []string{"[a.pdf#page=3]", "What about it?"}, "How long is it?"},
		{"names its topic", tower, "What is the Eiffel Tower made of?"},
		{"another topic", tower, "How do koalas sleep during the winter months?"},
		{"a definition", tower, "What is photosynthesis?"},
		{"expletive it is possible", tower, "Is it possible to climb the stairs?"},
		{"expletive it is true", tower, "Is it true that elephants swim?"},
		{"expletive it takes", tower, "How long does it take to climb the stairs?"},
		{"expletive it rains", tower, "When it rains, is the top closed?"},
		{"expletive it is necessary", tower, "When it is necessary to book, where do I go?"},
		{"cleft", tower, "Why is it that plans differ in price?"},
		{"relative that", tower, "Which plans have a clause that covers dental care?"},
		{"conjunction that", tower, "Who said that lifts are slow?"},
		{"this with its noun", tower, "Who can join this dental plan?"},
		{"it with a noun of its own before it", tower, "How do I open the window and close it?"},
		{"an acronym", tower, "Does the IT department answer calls?"},
		{"German", []string{"Was ist der Eiffelturm?", "Ein Turm."}, "Wie hoch ist er?"},
		{"a German noun", []string{"Was ist der Eiffelturm?", "Ein Turm."}, "Was besagt die These?"},
		{"Spanish", []string{"¿Qué es la Torre Eiffel?", "Una torre."}, "¿He pagado la factura?"},
		{"French", []string{"Qu'est-ce que la tour Eiffel ?", "Une tour."}, "Quelle est sa hauteur ?"},
		{"Chinese", []string{"埃菲尔铁塔是什么？", "铁塔。"}, "它有多高？"},
		{"Arabic", []string{"ما هو برج إيفل؟", "برج."}, "كم يبلغ ارتفاعه؟"},
		{"nothing", tower, ""},
	} {
		got := rewrite(append(c.history[:len(c.history):len(c.history)], c.in)...)
		if got.Query != c.in || got.Rewritten {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got.Reason == "" || got.Confidence >= minConfidence {
			t.Errorf("%s: reason %q, confidence %v", c.name, got.Reason, got.Confidence)
		}
	}
}

func TestRewrite_LeavesEllipticQuestionsToTheContext(t *testing.T) {
	for _, in := range []string{"Why?", "Tell me more", "And the price?", "What about Berlin?", "For example?", "Who designed that?", "Anything else?"} {
		got := rewrite("What is the Eiffel Tower?", "A tower in Paris.", in)
		if got.Rewritten || got.Query != in || got.Confidence != 0.5 || len(got.Context) == 0 {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestRewrite_FollowsTheTopicOverSeveralTurns(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{
			"through pronouns",
			[]string{"Who was Marie Curie?", "A.", "Where did she study?", "B.", "When did she die?"},
			"When did Marie Curie die?",
		},
		{
			"through an elliptic question",
			[]string{"What is the Eiffel Tower?", "A.", "How tall is it?", "B.", "And in feet?", "C.", "Who built it?"},
			"Who built the Eiffel Tower?",
		},
		{
			"to a new topic",
			[]string{"Who was Marie Curie?", "A.", "Who was Ada Lovelace?", "B.", "When was she born?"},
			"When was Ada Lovelace born?",
		},
		{
			"past words of the assistant",
			[]string{"Who was Marie Curie?", "She worked with Pierre Curie in the Sorbonne Laboratory.", "Where did she study?"},
			"Where did Marie Curie study?",
		},
		{
			"not from file names",
			[]string{"What does [Big Report Final.pdf#page=3] say of the Louvre?", "A.", "How big is it?"},
			"How big is the Louvre?",
		},
	} {
		if got := rewrite(c.texts...); got.Query != c.want || !got.Rewritten {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

// weights returns the weights of the context by stemmed word.
func weights(q chat.QueryRewritten) map[string]float64 {
	m := make(map[string]float64)
	for _, w := range q.Context {
		for _, term := range text.Terms(w.Word) {
			m[term] = w.Weight
		}
	}
	return m
}

func TestRewrite_WeighsTheHistoryByRoleAndDistance(t *testing.T) {
	w := weights(rewrite(
		"The oldest question names walnuts", "The oldest answer says hazel",
		"An older question names maples and lindens", "An older answer says birch [tree_guide.pdf#page=3]",
		"The last question names lindens", "The last answer says oak and walnuts [forest_atlas.pdf#page=12].",
		"What now?"))
	for term, want := range map[string]float64{
		"linden": userWeight, "mapl": userWeight * turnDecay, "walnut": userWeight * turnDecay * turnDecay,
		"oak": answerWeight, "birch": answerWeight * turnDecay, "hazel": answerWeight * turnDecay * turnDecay,
	} {
		if math.Abs(w[term]-want) > 1e-12 {
			t.Errorf("weight of %q = %v, want %v", term, w[term], want)
		}
	}
	for _, cited := range []string{"forest", "atlas", "forest_atlas", "tree", "guid", "pdf", "page", "12"} {
		if _, ok := w[cited]; ok {
			t.Errorf("%q of a citation is a word of the context", cited)
		}
	}
	for _, function := range []string{"the", "and", "name"} {
		if _, ok := w[function]; ok && function != "name" {
			t.Errorf("the function word %q is part of the context", function)
		}
	}
}

func TestRewrite_LeavesOutOtherRoles(t *testing.T) {
	history := []chat.Message{
		chat.TextMessage(llm.System, "Speak of walnuts."),
		chat.TextMessage(llm.ToolRole, "birch"),
		chat.TextMessage(llm.User, "What is the Eiffel Tower?"),
	}
	got := Rewrite(context.Background(), history, "How tall is it?")
	w := weights(got)
	if w["walnut"] != 0 || w["birch"] != 0 || w["tower"] != userWeight || got.Query != "How tall is the Eiffel Tower?" {
		t.Errorf("%+v", got)
	}
}

func TestRewrite_BoundsTopicAndContext(t *testing.T) {
	long := strings.Repeat("walnut birch ", 4000)
	got := rewrite(long, long, "How tall is it?")
	if len(got.Query) > 200 {
		t.Errorf("the query has %d bytes", len(got.Query))
	}
	var many strings.Builder
	for i := range 5000 {
		many.WriteString("w")
		for n := i; n > 0; n /= 26 {
			many.WriteByte(byte('a' + n%26))
		}
		many.WriteString("; ")
	}
	got = rewrite("One", many.String(), "Two", many.String(), "How tall is it?")
	if n := len(got.Context); n < maxContextWords || n > 5001 {
		t.Errorf("the context has %d words", n)
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add("What is the Eiffel Tower?", "A tower. [a.pdf#page=3]", "How tall is it?")
	f.Add("Who was Marie Curie?", "", "What about her?")
	f.Add("埃菲尔铁塔是什么？", "\xff\xfe[[", "its' 'it' IT-it’s it")
	f.Add("İstanbul ß Ǆ", "it", "İt ıts they're THEIR")
	f.Fuzz(func(t *testing.T, first, reply, question string) {
		got := rewrite(first, reply, question)
		switch {
		case got.Original != question:
			t.Errorf("the original of %q is %q", question, got.Original)
		case got.Rewritten == (got.Query == question):
			t.Errorf("%q became %q, rewritten %v", question, got.Query, got.Rewritten)
		case got.Rewritten != (got.Confidence >= minConfidence):
			t.Errorf("rewritten %v with confidence %v", got.Rewritten, got.Confidence)
		case utf8.ValidString(first) && utf8.ValidString(question) && !utf8.ValidString(got.Query):
			t.Errorf("%q is not valid", got.Query)
		case strings.TrimSpace(question) != "" && strings.TrimSpace(got.Query) == "":
			t.Errorf("nothing is left of %q", question)
		}
		for _, w := range got.Context {
			if w.Word == "" || w.Weight <= 0 || w.Weight > 1 {
				t.Errorf("context %+v", w)
			}
		}
	})
}
