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

// Besides questions, general chat pages send the model chores: requests for a title of the chat, tags, follow-up
// questions, a search query, or the rest of a text that somebody is typing. Chores are about the conversation that
// their prompt quotes, not about documents. Parley answers them from that conversation by rules, without a search or
// a model. This costs nothing, and the answer is never a refusal.

// The chores, named by the keys of their JSON in Open WebUI.
const (
	titleChore     = "title"
	tagsChore      = "tags"
	followUpsChore = "follow_ups"
	queriesChore   = "queries"
	textChore      = "text"   // the rest of a text that somebody is typing
	promptChore    = "prompt" // for a model that generates images
)

// Two chores of LobeHub. choreHeader cannot name them.
const (
	chipsChore = "chips" // replies to choose from
	queryChore = "query" // the last question, as plain text
)

var choreNames = []string{titleChore, tagsChore, followUpsChore, queriesChore, textChore, promptChore}

// choreHeader names the chore of a request, for clients whose prompts Parley does not recognize. "none" means that the
// request is a question, whatever it looks like.
const choreHeader = "X-Parley-Task"

// said is one utterance of the conversation that a chore is about.
type said struct {
	user bool
	text string
}

// chore is a request that is not a question. It is the Runner of its own turn.
type chore struct {
	name         string
	json         bool // the answer is a JSON object with the key name
	schema       bool // the object also has LibreChat's key language
	conversation []said
}

// choreOf returns the chore that a request is, or nil for a question. named is the value of choreHeader. A request with
// tools is never a chore.
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
	if _, rest, _ := strings.Cut(prompt, "\n\n"); len(c.conversation) == 0 { // Continue sends the text after its prompt
		c.conversation = []said{{true, rest}}
	}
	return c, nil
}

// followUpInput matches LobeHub's prompt to rewrite a question so that it stands alone.
var followUpInput = lazyregexp.New(`(?s)^Follow Up Input: (.*), it's standalone query:\s*$`)

// lobeChore recognizes LobeHub's prompts for suggested replies, and for a query of its own search. told is the system
// message.
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

// jsonChore recognizes the prompts of Open WebUI and its forks, which begin with a task, show the expected JSON, and quote
// the chat.
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

// titleWords are phrases in lower case. A prompt for a title contains at least one of them. LibreChat, LobeHub and
// Continue have different prompts.
var titleWords = []string{
	"5-word-or-less", "words or less", "title case", "title itself", "only the title", "3-4 words", "conversation summarizer", "max 40 characters",
}

// asksForTitle reports whether the beginning of a prompt asks for the title of a conversation.
func asksForTitle(prompt string) bool {
	head := strings.ToLower(prompt[:min(len(prompt), 600)])
	return strings.Contains(head, titleChore) && (strings.Contains(head, "conversation") || strings.Contains(head, "chat")) &&
		slices.ContainsFunc(titleWords, func(w string) bool { return strings.Contains(head, w) })
}

// quoted returns the conversation that a prompt quotes, without system messages.
func quoted(prompt string) (all []said) {
	for role, words := range utterances(prompt) {
		if words = strings.Trim(words, `"`); words != "" && role != llm.System {
			all = append(all, said{role == llm.User, words})
		}
	}
	return all
}

// utterances yields the speakers in a prompt and their words. A line that begins with, for example, "User: " names the
// speaker. The text before the first speaker is not yielded.
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

// spoken returns what the user and the assistant said in a request's messages.
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

// Run implements chat.Runner.
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
		return cmp.Or(plain, " "), nil // some clients treat an empty answer as missing
	}
	members := map[string]any{c.name: v}
	if c.schema {
		members["language"] = languages[text.LanguageOf(c.question())]
	}
	raw, err := wire.AppendJSON(nil, members)
	return string(raw), err
}

// languages maps all codes of text.LanguageOf to the names that LibreChat expects.
var languages = map[string]string{
	"en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch",
	"sv": "Swedish", "pl": "Polish", "ru": "Russian", "ja": "Japanese", "ko": "Korean", "zh": "Chinese",
}

// question returns the last utterance of the user, or "".
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

// title returns the first line that the user said, cut to maxTitle characters, between words if possible: people recognize
// a chat by their own words.
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

// topics returns up to maxTopics of the most frequent words, without stop words. The user's words count three times.
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

// followUps returns a question about each topic. It returns none after a refusal, or if the conversation is not in English.
func (c *chore) followUps() []string {
	questions := []string{}
	if last := len(c.conversation) - 1; last >= 0 && !c.conversation[last].user && text.IsRefusal(c.conversation[last].text) {
		return questions
	}
	if text.LanguageOf(c.question()) != "en" {
		return questions
	}
	for _, word := range c.topics() {
		questions = append(questions, "What else do the documents say about "+word+"?")
	}
	return questions
}
