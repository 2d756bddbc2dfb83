package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/llm"
)

// Refusal is the answer if the passages do not hold one. If passages come near, it is followed by the nearest ones.
const Refusal = unknown + "I found no clear answer in the documents that I can search."

const unknown = "I don't know. "

// phrases are the parts of a refusal in one language.
type phrases struct {
	refusal string
	nearest string // precedes the nearest sources
	quoted  string // the nearest text between quotation marks
	page    string // follows the name of a document, with the number
}

var english = phrases{Refusal, "What comes nearest:", "“%s”", ", page %s"}

var refusals = map[string]phrases{
	"de": {"Das weiß ich nicht. In den Dokumenten, die ich durchsuchen kann, habe ich keine klare Antwort gefunden.", "Am nächsten kommt:", "„%s“", ", Seite %s"},
	"fr": {"Je ne sais pas. Je n'ai pas trouvé de réponse claire dans les documents que je peux consulter.", "Ce qui s'en approche le plus :", "« %s »", ", page %s"},
	"es": {"No lo sé. No he encontrado una respuesta clara en los documentos que puedo consultar.", "Lo más cercano:", "«%s»", ", página %s"},
	"it": {"Non lo so. Non ho trovato una risposta chiara nei documenti che posso consultare.", "Il passo più vicino:", "«%s»", ", pagina %s"},
	"pt": {"Não sei. Não encontrei uma resposta clara nos documentos que posso consultar.", "O mais próximo:", "“%s”", ", página %s"},
	"nl": {"Dat weet ik niet. Ik heb geen duidelijk antwoord gevonden in de documenten die ik kan doorzoeken.", "Het dichtst in de buurt komt:", "“%s”", ", pagina %s"},
	"pl": {"Nie wiem. W dokumentach, które mogę przeszukać, nie ma jasnej odpowiedzi.", "Najbliżej jest:", "„%s”", ", strona %s"},
	"ru": {"Я не знаю. В документах, по которым я могу искать, нет ясного ответа.", "Ближе всего:", "«%s»", ", страница %s"},
	"ja": {"わかりません。検索できる文書に、明確な答えは見つかりませんでした。", "最も近い箇所：", "「%s」", "、%sページ"},
	"ko": {"모르겠습니다. 검색할 수 있는 문서에서 명확한 답을 찾지 못했습니다.", "가장 가까운 내용:", "“%s”", ", %s쪽"},
	"zh": {"我不知道。在我能检索的文档中没有找到明确的答案。", "最接近的内容：", "“%s”", "，第%s页"},
}

const (
	maxNearest = 3   // sources that a refusal names
	maxExcerpt = 300 // bytes that it quotes

	minChanceNear = .2 // how likely a block must be to answer, if its passage lacks the subjects of the question
)

// refusal returns the text of a refusal in the language of the question. It adds a possible reason or, if nearest is set, what
// comes nearest: the text of the best block, its source, and up to two others. These are not citations, since they need not
// answer.
func (a Answerer) refusal(ctx context.Context, ev *llm.Evidence, nearest bool) string {
	switch {
	case ev == nil:
		return Refusal
	case ev.Missing != "":
		return unknown + ev.Missing
	}
	say, ok := refusals[askedIn(ev.Question, ev.Passages)]
	if !ok {
		say = english
	}
	if !nearest {
		return say.refusal
	}
	text, sources := a.nearest(ctx, ev)
	if len(sources) == 0 {
		return say.refusal
	}
	for i, s := range sources {
		if document, page, ok := strings.Cut(s, "#page="); ok {
			sources[i] = document + fmt.Sprintf(say.page, page)
		}
	}
	sources[0] = fmt.Sprintf(say.quoted, text) + " (" + sources[0] + ")"
	return say.refusal + " " + say.nearest + " " + strings.Join(sources, "; ")
}

// nearest returns the citations of the blocks that come nearest to an answer, the best first, and the text of the best one. A block
// counts if its passage has some of the subjects of the question, or if it is likely to answer.
func (a Answerer) nearest(ctx context.Context, ev *llm.Evidence) (best string, sources []string) {
	n, units := a.units(ctx, ev)
	slices.SortStableFunc(units, func(u, v unit) int { return cmp.Compare(v.score, u.score) })
	about := n.essence()
	sure, reads := a.Reader.sureness(ev)
	for i := range units {
		p := &ev.Passages[units[i].passage]
		c := p.CitationAt(units[i].start)
		held, _ := about.held(n.passageTerms(*p))
		// A lead alone makes a block seem likely, even if none of them concerns the question. So it must score well by itself too.
		near := reads && sure.chance(units, i) >= minChanceNear && units[i].features[like] >= sure.far.like
		if held < minEvidence && !near || c == "" || slices.Contains(sources, c) {
			continue
		}
		if len(sources) == 0 {
			best = excerpt(appendQuotes(nil, p, &units[i]))
		}
		if sources = append(sources, c); len(sources) == maxNearest {
			break
		}
	}
	return best, sources
}

// excerpt returns the words of the quotes of one block, or their beginning.
func excerpt(quotes []quote) string {
	said := make([]string, len(quotes))
	for i, q := range quotes {
		said[i] = q.said()
	}
	s := strings.Join(said, " ")
	if len(s) <= maxExcerpt {
		return s
	}
	end := maxExcerpt
	for !utf8.RuneStart(s[end]) {
		end--
	}
	if space := strings.LastIndexByte(s[:end], ' '); space > 0 {
		end = space
	}
	return s[:end] + " …"
}
