package openai

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/text"
	"parley/internal/wire"
)

// General chat pages ask the model that answers for more than answers: a title for the chat, tags, questions to
// ask next, a search query, the rest of a text that somebody is typing. These are chores: they are about the
// conversation that their prompt quotes, not about documents. A chore is answered from that conversation by
// rules, without a search or a model, so that it costs nothing and is never a refusal.

// The chores, by the names that their JSON has in Open WebUI.
const (
	titleChore     = "title"
	tagsChore      = "tags"
	followUpsChore = "follow_ups"
	queriesChore   = "queries"
	textChore      = "text"   // the rest of a text that somebody is typing
	promptChore    = "prompt" // for a model that paints
)

// Two chores of LobeHub. A request cannot choose them by name.
const (
	chipsChore = "chips" // replies to choose from
	queryChore = "query" // the last question, as plain text
)

var choreNames = []string{titleChore, tagsChore, followUpsChore, queriesChore, textChore, promptChore}

// choreHeader names the chore that a request is: for clients whose prompts are not known here. "none" says
// that it is a question, whatever it looks like.
const choreHeader = "X-Parley-Task"

// said is one utterance of the conversation that a chore is about.
type said struct {
	user bool
	text string
}

// chore is a request that is not a question. It is the runner of its own turn.
type chore struct {
	name         string
	json         bool // the answer is a JSON object with the name as its member
	schema       bool // the object is LibreChat's, with a language
	conversation []said
}

// choreOf recognizes a chore; nil for a question.
func choreOf(messages []chat.Message, o *chat.Options, named string) (*chore, error) {
	if len(o.Tools) > 0 {
		return nil, nil //nolint:nilnil // the absence of a chore is not an error
	}
	last := len(messages) - 1
	if named != "" {
		switch {
		case named == "none":
			return nil, nil //nolint:nilnil // as above
		case !slices.Contains(choreNames, named):
			return nil, Refusef(choreHeader, invalid, "%s must be none or one of %s.", choreHeader, strings.Join(choreNames, ", "))
		}
		return &chore{name: named, json: named != titleChore && named != textChore, conversation: spoken(messages)}, nil
	}
	prompt := messages[last].Text()
	if c := jsonChore(prompt); c != nil {
		return c, nil
	}
	told := ""
	if messages[0].Role == llm.System {
		told = messages[0].Text()
	}
	if c := lobeChore(told, prompt); c != nil {
		return c, nil
	}
	inPrompt := asksForTitle(prompt)
	if messages[last].Role != llm.User || !inPrompt && !asksForTitle(told) {
		return nil, nil //nolint:nilnil // as above
	}
	c := &chore{name: titleChore, json: o.Schema != nil, schema: o.Schema != nil}
	if c.conversation = quoted(prompt); len(c.conversation) == 0 {
		if inPrompt {
			messages = messages[:last]
		}
		c.conversation = spoken(messages)
	}
	if _, rest, _ := strings.Cut(prompt, "\n\n"); len(c.conversation) == 0 { // Continue sends what was said behind its prompt
		c.conversation = []said{{true, rest}}
	}
	return c, nil
}

// followUpInput is LobeHub's prompt for a question that stands alone.
var followUpInput = lazyregexp.New(`(?s)^Follow Up Input: (.*), it's standalone query:\s*$`)

// lobeChore recognizes LobeHub's prompts for replies to choose from, and for a query of its own search.
func lobeChore(told, prompt string) *chore {
	if strings.Contains(told, "quick-reply suggestions") && strings.HasPrefix(prompt, "Last assistant message:") {
		return &chore{name: chipsChore, json: true}
	}
	if asked := followUpInput.FindStringSubmatch(prompt); asked != nil && strings.Contains(told, "standalone question") {
		return &chore{name: queryChore, conversation: []said{{true, asked[1]}}}
	}
	return nil
}

var (
	historyBlock = lazyregexp.New(`(?s)<chat_history>(.*)</chat_history>`)
	jsonMember   = lazyregexp.New(`"(title|tags|follow_ups|queries|text|prompt)"\s*:`)
	typedText    = lazyregexp.New(`(?s)<text>(.*)</text>`)
	speaker      = lazyregexp.New(`(?im)^[ \t]*\**(user|human|assistant|ai|system)\**[ \t]*:[ \t]*`)
)

// jsonChore recognizes the prompts of Open WebUI and of its forks: they begin with a task, show the
// JSON that is wanted, and quote the chat.
func jsonChore(prompt string) *chore {
	prompt = strings.TrimSpace(prompt)
	block := historyBlock.FindStringSubmatchIndex(prompt)
	if !strings.HasPrefix(prompt, "### Task:") || block == nil {
		return nil
	}
	member := jsonMember.FindStringSubmatch(prompt[:block[0]])
	if member == nil {
		return nil
	}
	c := &chore{name: member[1], json: true, conversation: quoted(prompt[block[2]:block[3]])}
	if typed := typedText.FindStringSubmatch(prompt[block[1]:]); c.name == textChore && typed == nil {
		return nil
	}
	return c
}

// titleWords are what prompts for a title say beside the word, each of them in small letters. LibreChat, LobeHub
// and Continue have their own.
var titleWords = []string{
	"5-word-or-less", "words or less", "title case", "title itself", "only the title", "3-4 words", "conversation summarizer", "max 40 characters",
}

// asksForTitle reports whether a prompt, by its beginning, wants a title of a conversation.
func asksForTitle(prompt string) bool {
	head := strings.ToLower(prompt[:min(len(prompt), 600)])
	return strings.Contains(head, titleChore) && (strings.Contains(head, "conversation") || strings.Contains(head, "chat")) &&
		slices.ContainsFunc(titleWords, func(w string) bool { return strings.Contains(head, w) })
}

// quoted reads a conversation out of a prompt, without what the system says in it.
func quoted(prompt string) (all []said) {
	for role, words := range utterances(prompt) {
		if words = strings.Trim(words, `"`); words != "" && role != llm.System {
			all = append(all, said{role == llm.User, words})
		}
	}
	return all
}

// utterances yields who speaks in a prompt, which the beginning of a line tells ("User: "), and the words. What comes
// before the first speaker is not yielded.
func utterances(prompt string) iter.Seq2[llm.Role, string] {
	return func(yield func(llm.Role, string) bool) {
		marks := speaker.FindAllStringSubmatchIndex(prompt, -1)
		for i, m := range marks {
			end := len(prompt)
			if i+1 < len(marks) {
				end = marks[i+1][0]
			}
			role := llm.Assistant
			switch strings.ToLower(prompt[m[2]:m[3]]) {
			case "user", "human":
				role = llm.User
			case "system":
				role = llm.System
			}
			if !yield(role, strings.TrimSpace(prompt[m[1]:end])) {
				return
			}
		}
	}
}

// spoken is the conversation of a request's messages.
func spoken(messages []chat.Message) (all []said) {
	for _, m := range messages {
		if words := strings.TrimSpace(m.Text()); words != "" && (m.Role == llm.User || m.Role == llm.Assistant) {
			all = append(all, said{m.Role == llm.User, words})
		}
	}
	return all
}

// choreModel is the system_fingerprint of the answer to a chore.
const choreModel = "builtin:chores"

// Run emits the answer.
func (c *chore) Run(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		answer, err := c.answer()
		if err != nil {
			yield(nil, err)
			return
		}
		done := chat.MessageFinished{ID: "chore", Status: chat.StatusCompleted, Text: answer, FinishReason: "stop", Model: choreModel}
		for _, e := range []chat.Event{
			chat.MessageStarted{ID: done.ID, Model: choreModel}, chat.CompletionStarted{ID: done.ID, Model: choreModel},
			chat.TextDelta{ID: done.ID, Text: answer}, done, chat.TurnFinished{},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (c *chore) answer() (string, error) {
	var v any
	switch c.name {
	case titleChore:
		v = c.title()
	case tagsChore:
		v = c.topics()
	case followUpsChore:
		v = c.followUps()
	case queriesChore:
		v = []string{}
		if q := c.question(); q != "" {
			v = []string{q}
		}
	case promptChore, queryChore:
		v = c.question()
	case chipsChore:
		v = []string{} // LobeHub then shows no replies
	default:
		v = ""
	}
	if plain, ok := v.(string); ok && !c.json {
		return cmp.Or(plain, " "), nil // an answer without words is none to some clients
	}
	members := map[string]any{c.name: v}
	if c.schema {
		members["language"] = languages[text.LanguageOf(c.question())]
	}
	raw, err := wire.AppendJSON(nil, members)
	return string(raw), err
}

// languages are the names of the languages that package text tells apart; English where it knows none.
var languages = map[string]string{"": "English", "en": "English", "de": "German", "fr": "French", "es": "Spanish"}

// question is the last thing that the user has said.
func (c *chore) question() string {
	for _, s := range slices.Backward(c.conversation) {
		if s.user {
			return s.text
		}
	}
	return ""
}

// maxTitle is the maximum length of a title, in characters.
const maxTitle = 50

// title is the first thing that the user has said, as far as it fits: people find a chat again by their own
// words.
func (c *chore) title() string {
	first := ""
	for _, s := range c.conversation {
		if s.user {
			first = s.text
			break
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(first), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if runes := []rune(line); len(runes) > maxTitle {
		line = string(runes[:maxTitle])
		if at := strings.LastIndexByte(line, ' '); at > maxTitle/2 {
			line = line[:at]
		}
	}
	line = strings.TrimRightFunc(line, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
	r, size := utf8.DecodeRuneInString(line)
	if line == "" {
		return "New chat"
	}
	return string(unicode.ToUpper(r)) + line[size:]
}

const maxTopics = 3

// topics are the words that the conversation is about: those that it uses most, the user's before others.
func (c *chore) topics() []string {
	type topic struct {
		word  string
		count int
	}
	var all []topic
	at := map[string]int{}
	for _, s := range c.conversation {
		weight := 1
		if s.user {
			weight = 3
		}
		for _, t := range text.Analyze(s.text) {
			word := strings.ToLower(s.text[t.Start:t.End])
			if t.Stop || utf8.RuneCountInString(word) < 3 || !unicode.IsLetter([]rune(word)[0]) {
				continue
			}
			if _, known := at[t.Term]; !known {
				at[t.Term] = len(all)
				all = append(all, topic{word: word})
			}
			all[at[t.Term]].count += weight
		}
	}
	slices.SortStableFunc(all, func(a, b topic) int { return b.count - a.count })
	words := []string{}
	for _, t := range all[:min(len(all), maxTopics)] {
		words = append(words, t.word)
	}
	return words
}

// followUps ask for more about the topics, in English conversations; in others, and after a refusal, there are none.
func (c *chore) followUps() []string {
	questions := []string{}
	if last := len(c.conversation) - 1; last >= 0 && !c.conversation[last].user && text.IsRefusal(c.conversation[last].text) {
		return questions
	}
	if language := text.LanguageOf(c.question()); language != "" && language != "en" {
		return questions
	}
	for _, word := range c.topics() {
		questions = append(questions, "What else do the documents say about "+word+"?")
	}
	return questions
}
