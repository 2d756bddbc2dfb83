package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat/chattest"
	"parley/internal/wire"
)

// choreBody is a request with messages "role text", or "role\ntext".
func choreBody(messages ...[2]string) string {
	var list []map[string]string
	for _, m := range messages {
		list = append(list, map[string]string{"role": m[0], "content": m[1]})
	}
	raw, _ := wire.AppendJSON(nil, map[string]any{"model": "parley", "messages": list})
	return string(raw)
}

// openWebUI is a prompt as Open WebUI makes its own.
func openWebUI(task, member, history, more string) string {
	return "### Task:\n" + task + "\n### Guidelines:\n- Be concise.\n### Output:\nJSON format: { \"" + member + "\": … }\n### Chat History:\n<chat_history>\n" +
		history + "\n</chat_history>" + more
}

const trains = "USER: \"\"\"What does the travel policy say about trains, and about trains at night?\"\"\"\nASSISTANT: \"\"\"Trains first [travel.md].\nAnd so on.\"\"\"\nUSER: And planes?"

func TestChores_AreAnsweredFromTheConversation(t *testing.T) {
	const title = "What does the travel policy say about trains, and"
	for name, c := range map[string]struct {
		body, want string
	}{
		"Open WebUI, title": {choreBody([2]string{"user", openWebUI("Generate a concise, 3-5 word title with an emoji summarizing the chat history.", "title", trains, "")}),
			`{"title":"` + title + `"}`},
		"Open WebUI, tags": {choreBody([2]string{"user", openWebUI("Generate 1-3 broad tags categorizing the main themes.", "tags", trains, "")}),
			`{"tags":["trains","travel","policy"]}`},
		"Open WebUI, follow-ups": {choreBody([2]string{"user", openWebUI("Suggest 3-5 relevant follow-up questions.", "follow_ups", trains, "")}),
			`{"follow_ups":["What else do the documents say about trains?","What else do the documents say about travel?","What else do the documents say about policy?"]}`},
		"Open WebUI, follow-ups to a refusal": {choreBody([2]string{"user", openWebUI("Suggest 3-5 relevant follow-up questions.", "follow_ups",
			"USER: \"\"\"Who feeds the goats?\"\"\"\nASSISTANT: \"\"\"I don't know. I found no clear answer in the documents that I can search.\"\"\"", "")}),
			`{"follow_ups":[]}`},
		"Open WebUI, queries": {choreBody([2]string{"user", openWebUI("Analyze the chat history to determine the necessity of generating search queries.", "queries", trains, "")}),
			`{"queries":["And planes?"]}`},
		"Open WebUI, autocomplete": {choreBody([2]string{"user", openWebUI("You are an autocompletion system.", "text", trains, "\n<type>search query</type>\n<text>How do</text>")}),
			`{"text":""}`},
		"LibreChat": {choreBody([2]string{"user", "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\n" +
			"Conversation:\nUser: how long is the leave?\nAI: Thirty days."}), "How long is the leave"},
		"LibreChat, two messages": {choreBody([2]string{"user", "how long is the leave?"},
			[2]string{"user", "Provide a concise, 5-word-or-less title for the conversation, using title case conventions."}), "How long is the leave"},
		"LobeHub": {choreBody([2]string{"system", "You are a professional conversation summarizer. Output ONLY the title text."},
			[2]string{"user", "user: How long is the leave?\nassistant: Thirty days."}), "How long is the leave"},
		"Continue": {choreBody([2]string{"user", "How long is the leave?"}, [2]string{"assistant", "Thirty days."},
			[2]string{"user", "Given the chat above, please reply with a title for the chat that is 3-4 words in length, no additional text."}), "How long is the leave"},
		"Continue, the words behind the prompt": {choreBody([2]string{"user", "Given the following... please reply with a title for the chat that is 3-4 words in length, " +
			"you don't need ending punctuation.\n\nThe leave is thirty days [leave.md]."}), "The leave is thirty days [leave.md"},
		"LobeHub, replies to choose from": {strings.TrimSuffix(choreBody([2]string{"system", "You are a sidecar that extracts 0-4 quick-reply suggestions from the last assistant message."},
			[2]string{"user", "Last assistant message:\n\"\"\"\nDo you mean trains?\n\"\"\""}), "}") +
			`,"response_format":{"type":"json_schema","json_schema":{"name":"follow_up_suggestions","schema":{"type":"object"}}}}`, `{"chips":[]}`},
		"LobeHub, a query": {choreBody([2]string{"system", "Rephrase the follow up question to be a standalone question.\n<chatHistory>\nHow long is the leave?\n</chatHistory>"},
			[2]string{"user", "Follow Up Input: And for trainees?, it's standalone query:"}), "And for trainees?"},
		"a chat without words": {choreBody([2]string{"user", openWebUI("Generate a title", "title", "", "")}), `{"title":"New chat"}`},
		"a German chat": {choreBody([2]string{"user", openWebUI("Suggest questions", "follow_ups", "USER: Wie viele Tage Urlaub haben die Angestellten?", "")}),
			`{"follow_ups":[]}`},
	} {
		engine := &chattest.Engine{}
		w := complete(handlerOf(engine, nil), c.body)
		var got struct {
			Choices []struct{ Message struct{ Content string } }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || len(got.Choices) != 1 || got.Choices[0].Message.Content != c.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if len(engine.Requests()) > 0 || w.Header().Get("X-Turn-Id") != "" {
			t.Errorf("%s: a turn was run", name)
		}
	}
}

func TestChores_NameTheLanguageOfTheQuestion(t *testing.T) {
	for question, want := range map[string]string{
		"How long is the leave?":                        "English",
		"Wie viele Tage Urlaub haben die Angestellten?": "German",
		"Quanti giorni di ferie hanno gli impiegati?":   "Italian",
		"Quantos dias de férias têm os empregados?":     "Portuguese",
		"Hoeveel vakantiedagen hebben de werknemers?":   "Dutch",
		"Hur många semesterdagar har de anställda?":     "Swedish",
		"Ile dni urlopu mają pracownicy?":               "Polish",
		"Сколько дней отпуска есть у сотрудников?":      "Russian",
		"休暇は何日ですか。":                                     "Japanese",
		"휴가는 며칠입니까?":                                    "Korean",
		"员工有多少天假期？":                                     "Chinese",
	} {
		c := chore{name: titleChore, json: true, schema: true, conversation: []said{{true, question}}}
		if answer, err := c.answer(); err != nil || !strings.Contains(answer, `"language":"`+want+`"`) {
			t.Errorf("%s: %s, %v", question, answer, err)
		}
	}
}

func TestChores_AreNotWhatPeopleAsk(t *testing.T) {
	const title = "Provide a concise, 5-word-or-less title for the conversation."
	for _, body := range []string{
		choreBody([2]string{"user", "What is the title of the handbook?"}),
		choreBody([2]string{"user", "Can you generate a concise title for my essay?"}),
		choreBody([2]string{"user", "What does <chat_history> mean, and \"title\": in Open WebUI?"}),
		choreBody([2]string{"user", "### Task:\nSummarize the travel policy."}),
		choreBody([2]string{"user", "### Task:\nSummarize. {\"summary\": …}\n<chat_history>\nUSER: a\n</chat_history>"}),
		choreBody([2]string{"user", strings.Repeat("The handbook. ", 50) + title}),
		choreBody([2]string{"user", title}, [2]string{"assistant", "Leave"}, [2]string{"user", "Who approves leave?"}),
	} {
		engine := &chattest.Engine{Events: chattest.Turn("q", "a")}
		if w := complete(handlerOf(engine, nil), body); w.Code != 200 || len(engine.Requests()) != 1 {
			t.Errorf("%s: %d, %d turns", body, w.Code, len(engine.Requests()))
		}
	}
}

func TestChores_CanBeNamedByAHeader(t *testing.T) {
	for name, want := range map[string]int{"none": 1, "title": 0, "follow_ups": 0} {
		engine := &chattest.Engine{Events: chattest.Turn("q", "a")}
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(choreBody([2]string{"user",
			"Provide a concise, 5-word-or-less title for the conversation.\n\nConversation:\nUser: Hello\nAI: Hi"})))
		r.Header.Set(choreHeader, name)
		w := httptest.NewRecorder()
		serve(handlerOf(engine, nil)).ServeHTTP(w, r)
		if got := len(engine.Requests()); w.Code != 200 || got != want {
			t.Errorf("%s: %d, %d turns", name, w.Code, got)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(asking))
	r.Header.Set(choreHeader, "dishes")
	w := httptest.NewRecorder()
	serve(handlerOf(&chattest.Engine{}, nil)).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"X-Parley-Task"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Whatever a prompt holds, its answer is valid and short.
func FuzzChores(f *testing.F) {
	f.Add(openWebUI("t", "title", trains, ""), "")
	f.Add("Provide a concise, 5-word-or-less title for the conversation\nUser: \xff\nAI:", "tags")
	f.Add("### Task:\n\"text\":<chat_history>USER:</chat_history><text>x</text>", "follow_ups")
	f.Fuzz(func(t *testing.T, prompt, name string) {
		for _, c := range []*chore{jsonChore(prompt), {name: name, json: true, schema: true, conversation: quoted(prompt)}, {name: titleChore, conversation: quoted(prompt)}} {
			if c == nil {
				continue
			}
			answer, err := c.answer()
			if err != nil || c.json && !json.Valid([]byte(answer)) || c.name == titleChore && len(answer) > 8*maxTitle {
				t.Errorf("%q: %q, %v", prompt, answer, err)
			}
		}
	})
}
