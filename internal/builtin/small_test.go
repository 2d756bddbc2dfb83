package builtin

import (
	"context"
	"strings"
	"testing"

	"parley/internal/llm"
)

func TestSmallReply_AnswersWhatNoDocumentAnswers(t *testing.T) {
	documents := func(context.Context) ([]string, int) { return []string{"handbook.pdf", "faq.md"}, 12 }
	const does = "I answer questions from documents, and show where each answer comes from."
	const which = "You can ask about these documents (12): handbook.pdf; faq.md; …"
	for message, want := range map[string]string{
		"Hello!":                       "Hello! " + does + " " + which,
		"good morning":                 "Hello! " + does + " " + which,
		"  Thanks a lot :)":            "You're welcome!",
		"ok, thank you":                "You're welcome!",
		"What can you do?":             does + " " + which,
		"help":                         does + " " + which,
		"Which documents do you have?": which,
		"list all documents":           which,
		"Hallo":                        "Hallo! Ich beantworte Fragen aus Dokumenten und zeige, woher jede Antwort stammt. Zu diesen Dokumenten können Sie Fragen stellen (12): handbook.pdf; faq.md; …",
		"¿Qué documentos tienes?":      "Puede preguntar sobre estos documentos (12): handbook.pdf; faq.md; …",
		"merci beaucoup !":             "Je vous en prie !",
		"你好！":                          "您好！ 我根据文档回答问题，并标明每个答案的出处。 您可以就以下文档提问（12 个）：handbook.pdf; faq.md; …",
		"Hello, how many days of leave do I get?": "",
		"Which documents do you need for a visa?": "",
		"What can you do about noise?":            "",
		"Thanks. And on Sundays?":                 "",
		"":                                        "",
		"?":                                       "",
		strings.Repeat("hello ", 40):              "",
	} {
		if got := smallReply(t.Context(), &llm.Evidence{Question: message, Documents: documents}); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
		if got := IsSmallTalk(message); got != (want != "") {
			t.Errorf("%q: IsSmallTalk says %v", message, got)
		}
	}
}

func TestSmallReply_SaysThatDocumentsAreMissing(t *testing.T) {
	ev := &llm.Evidence{Question: "Which documents do you have?", Missing: "There are no documents yet."}
	if got := smallReply(t.Context(), ev); got != ev.Missing {
		t.Errorf("got %q", got)
	}
	if got := smallReply(t.Context(), &llm.Evidence{Question: "Which documents do you have?"}); got != "" {
		t.Errorf("got %q", got)
	}
}

// Two languages may share a word, but each message must be known, and each language needs all replies.
func TestSmallTalks_AreWhole(t *testing.T) {
	for _, talk := range smallTalks {
		for _, s := range []string{talk.greeting, talk.thanks, talk.capability, talk.listing, talk.hello, talk.welcome, talk.does} {
			if s == "" {
				t.Errorf("%q lacks a text", talk.hello)
			}
		}
		if !strings.Contains(talk.documents, "%d") || !strings.HasSuffix(talk.documents, "%s") {
			t.Errorf("%q does not name documents", talk.documents)
		}
	}
	if len(smallTalks) != len(refusals)+1 {
		t.Errorf("%d languages have small talk, and %d refusals", len(smallTalks), len(refusals)+1)
	}
}
