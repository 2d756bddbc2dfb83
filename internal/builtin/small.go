package builtin

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"parley/internal/llm"
)

// smallTalk holds, in one language, expressions for messages that no document answers, and the replies to them. An expression
// matches a whole message without the signs around it.
type smallTalk struct {
	greeting, thanks string
	capability       string // "What can you do?"
	listing          string // "Which documents do you have?"

	hello, welcome string
	does           string // what the answerer does
	documents      string // with their number and names
}

// smallTalks has English first: of two languages with the same word, the first one replies.
var smallTalks = []smallTalk{
	{
		`(?:hi|hello|hey|howdy|hiya|greetings|good (?:morning|afternoon|evening|day))(?: there| all| everyone| again| parley)?`,
		`(?:(?:ok(?:ay)?|great|perfect|cool|nice)[,.!]* )?(?:many thanks|thanks|thank you|thx|ty|cheers)(?: (?:so much|very much|a lot|a bunch|again|for (?:your|the) help))?`,
		`(?:please )?help(?: me)?(?: please)?|what (?:can|do) you (?:do|know)(?: for me)?|(?:what|how) can you help(?: me)?(?: with)?|what (?:can|should|may) i ask(?: you)?(?: about)?|what are you able to do|(?:who|what) are you`,
		`(?:what|which) (?:documents?|docs|files|sources)(?: (?:do|can) (?:you|i) (?:have|know|see|search|read|access|use|ask about)| are (?:there|available|loaded|indexed)| have you (?:read|got|indexed))?|(?:please )?(?:list|show)(?: me)?(?: all)?(?: (?:of )?(?:the|your|my|available))* (?:documents|docs|files|sources)`,
		"Hello!", "You're welcome!", "I answer questions from documents, and show where each answer comes from.", "You can ask about these documents (%d): %s",
	}, {
		`hallo(?: zusammen)?|guten (?:tag|morgen|abend)|moin(?: moin)?|servus|grüß gott|grüezi`, `danke(?: ?schön| dir| ihnen| sehr| vielmals)?|vielen dank|besten dank`,
		`hilfe|was kannst du(?: alles)?(?: tun| machen)?|was können sie(?: tun)?|wobei kannst du(?: mir)? helfen|was (?:kann|darf) ich (?:dich |sie )?(?:alles )?fragen|(?:wer|was) bist du|wer sind sie`,
		`welche (?:dokumente|dateien|unterlagen|quellen)(?: (?:hast du|haben sie|gibt es|kennst du|liegen vor|kannst du (?:durchsuchen|lesen)|stehen zur verfügung))?|(?:zeige?|liste)(?: mir)?(?: alle)? (?:dokumente|dateien)(?: auf)?`,
		"Hallo!", "Gern geschehen!", "Ich beantworte Fragen aus Dokumenten und zeige, woher jede Antwort stammt.", "Zu diesen Dokumenten können Sie Fragen stellen (%d): %s",
	}, {
		`bonjour|bonsoir|salut|coucou`, `merci(?: beaucoup| bien)?`,
		`aide|aide[z]?-moi|que (?:peux-tu|pouvez-vous|sais-tu|savez-vous) faire(?: pour moi)?|que puis-je (?:te |vous )?demander|qui (?:es-tu|êtes-vous)`,
		`quels (?:documents|fichiers)(?: (?:as-tu|avez-vous|y a-t-il|sont disponibles|connais-tu|peux-tu consulter))?`,
		"Bonjour !", "Je vous en prie !", "Je réponds aux questions à partir de documents, et j'indique d'où vient chaque réponse.", "Vous pouvez poser des questions sur ces documents (%d) : %s",
	}, {
		`hola|buenos d[ií]as|buenas(?: tardes| noches)?`, `(?:muchas |mil )?gracias`, `ayuda|qué (?:puedes|sabes|puede) hacer(?: por mí)?|qué (?:te )?puedo preguntar(?:te)?|quién eres`,
		`qué (?:documentos|archivos)(?: (?:tienes|hay|conoces|puedes consultar))?`,
		"¡Hola!", "¡De nada!", "Respondo preguntas a partir de documentos e indico de dónde viene cada respuesta.", "Puede preguntar sobre estos documentos (%d): %s",
	}, {
		`ciao|salve|buongiorno|buonasera`, `grazie(?: mille| tante)?|mille grazie`, `aiuto|(?:che )?cosa (?:puoi|sai) fare|cosa posso chieder(?:e|ti)|chi sei`, `quali (?:documenti|file)(?: (?:hai|ci sono|conosci))?`,
		"Salve!", "Prego!", "Rispondo alle domande a partire da documenti e indico da dove viene ogni risposta.", "Può fare domande su questi documenti (%d): %s",
	}, {
		`olá|oi|bom dia|boa (?:tarde|noite)`, `(?:muito )?obrigad[oa]`, `ajuda|o que (?:você )?(?:pode|sabe) fazer|o que posso perguntar|quem é você`,
		`(?:que|quais) (?:documentos|arquivos|ficheiros)(?: (?:você )?(?:tem|há|existem|conhece))?`,
		"Olá!", "De nada!", "Respondo a perguntas a partir de documentos e indico de onde vem cada resposta.", "Pode perguntar sobre estes documentos (%d): %s",
	}, {
		`goeden?(?:dag|morgen|middag|avond)|goede (?:morgen|middag|avond)`, `bedankt|dank (?:je|u)(?: wel)?`, `wat kun je(?: doen)?|wat kan ik (?:je )?vragen|wie ben je`, `welke (?:documenten|bestanden)(?: (?:heb je|zijn er|ken je))?`,
		"Hallo!", "Graag gedaan!", "Ik beantwoord vragen uit documenten en laat zien waar elk antwoord vandaan komt.", "U kunt vragen stellen over deze documenten (%d): %s",
	}, {
		`cześć|dzień dobry|dobry wieczór|witam`, `dziękuję(?: bardzo)?|dzięki`, `pomoc|co (?:potrafisz|możesz zrobić)|o co mogę zapytać|kim jesteś`, `jakie (?:dokumenty|pliki)(?: (?:masz|są|znasz))?`,
		"Dzień dobry!", "Proszę bardzo!", "Odpowiadam na pytania na podstawie dokumentów i pokazuję, skąd pochodzi każda odpowiedź.", "Można pytać o te dokumenty (%d): %s",
	}, {
		`привет|здравствуйте|здравствуй|добрый (?:день|вечер)|доброе утро`, `(?:большое )?спасибо(?: большое)?`, `помощь|помоги(?:те)?|что ты (?:умеешь|можешь)|что вы (?:умеете|можете)|кто (?:ты|вы)`,
		`какие (?:документы|файлы)(?: (?:есть|у тебя есть|у вас есть))?`,
		"Здравствуйте!", "Пожалуйста!", "Я отвечаю на вопросы по документам и показываю, откуда взят каждый ответ.", "Можно спрашивать об этих документах (%d): %s",
	}, {
		`こんにちは|こんばんは|おはよう(?:ございます)?`, `ありがとう(?:ございます|ございました)?`, `ヘルプ|何ができますか|あなたは誰ですか`, `どんな(?:文書|ファイル)がありますか`,
		"こんにちは。", "どういたしまして。", "文書に基づいて質問に答え、それぞれの答えの出典を示します。", "次の文書について質問できます（%d件）：%s",
	}, {
		`안녕(?:하세요|하십니까)?`, `감사합니다|고마워(?:요)?|고맙습니다`, `도움말|무엇을 할 수 (?:있나요|있어요)|누구세요`, `어떤 (?:문서|파일)(?:가|이)? ?있(?:나요|어요)`,
		"안녕하세요!", "천만에요!", "문서를 바탕으로 질문에 답하고, 각 답의 출처를 보여 드립니다.", "다음 문서에 대해 질문할 수 있습니다(%d개): %s",
	}, {
		`你好|您好|嗨|哈喽|早上好|下午好|晚上好`, `(?:多)?谢谢(?:你|您)?|感谢`, `帮助|你(?:能|会|可以)(?:做|干)(?:什么|些什么)|我(?:能|可以)问(?:你)?(?:什么|些什么)|你是谁`, `(?:你)?(?:有|知道)(?:哪些|什么)(?:文件|文档|资料)|列出(?:所有)?(?:文件|文档)`,
		"您好！", "不客气！", "我根据文档回答问题，并标明每个答案的出处。", "您可以就以下文档提问（%d 个）：%s",
	},
}

// smallMatchers are the expressions of smallTalks: greeting, thanks, capability and listing of each language.
var smallMatchers = sync.OnceValue(func() [][4]*regexp.Regexp {
	all := make([][4]*regexp.Regexp, len(smallTalks))
	for i, t := range smallTalks {
		for j, pattern := range []string{t.greeting, t.thanks, t.capability, t.listing} {
			all[i][j] = regexp.MustCompile(`(?i)^(?:` + pattern + `)$`)
		}
	}
	return all
})

// maxSmall is the length in bytes of the longest message that may be small talk.
const maxSmall = 100

// matchSmall returns the small talk of the language of a message, and the index of its match in smallMatchers; false for any
// other message.
func matchSmall(message string) (say smallTalk, what int, ok bool) {
	if len(message) > maxSmall {
		return smallTalk{}, 0, false
	}
	message = strings.TrimFunc(message, func(r rune) bool { return !unicode.IsLetter(r) })
	for i, m := range smallMatchers() {
		if what := slices.IndexFunc(m[:], func(x *regexp.Regexp) bool { return x.MatchString(message) }); what >= 0 {
			return smallTalks[i], what, true
		}
	}
	return smallTalk{}, 0, false
}

// IsSmallTalk reports whether a message is one that no document needs to answer: a greeting, thanks, or a question about the
// answerer or its documents.
func IsSmallTalk(message string) bool {
	_, _, ok := matchSmall(message)
	return ok
}

// smallReply returns the reply to small talk; "" for any other message.
func smallReply(ctx context.Context, ev *llm.Evidence) string {
	if ev == nil {
		return ""
	}
	say, what, ok := matchSmall(ev.Question)
	switch {
	case !ok:
		return ""
	case what == 0:
		return joined(say.hello, say.does, say.which(ctx, ev))
	case what == 1:
		return say.welcome
	case what == 2:
		return joined(say.does, say.which(ctx, ev))
	}
	return say.which(ctx, ev)
}

// which names the available documents; "" if they are not known.
func (t smallTalk) which(ctx context.Context, ev *llm.Evidence) string {
	if ev.Missing != "" || ev.Documents == nil {
		return ev.Missing
	}
	names, total := ev.Documents(ctx)
	if total == 0 {
		return ""
	}
	list := strings.Join(names, "; ")
	if total > len(names) {
		list += "; …"
	}
	return fmt.Sprintf(t.documents, total, list)
}

// joined joins the sentences that are not empty with spaces.
func joined(sentences ...string) string {
	return strings.TrimSpace(strings.Join(sentences, " "))
}
