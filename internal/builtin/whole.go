package builtin

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// Requests for a summary: the words that ask for one, the words that may precede them, and questions that are such a request as
// a whole.
var (
	summaryWord = lazyregexp.New(`(?i)\b(?:summary|summari[sz]e|summari[sz]ing|overview|gist|tl;? ?dr|(?:main|key) (?:points|ideas|takeaways)|nutshell` +
		`|zusammenfass\pL+|fass(?:e|en|t)?|überblick|sommaire|synthèse|resum(?:en|ir|a|o)|resúme\pL*|riassun\pL+|sintesi)(?:[^\pL]|$)|résum\pL+|总结|概括|概述|摘要|主要内容|要約|まとめ|概要`)
	beforeSummary = set(`a an the me us i you we to of in is are what please can could would will need want like have give write show make get provide
		tell let's short brief quick good concise one single paragraph sentence sentences few
		bitte gib mir uns eine einen kurz kurze kurzen kannst können du sie der die das was
		donne donnez moi nous fais faites un une le la les court courte bref brève peux pouvez tu vous s'il te plaît
		dame haz hazme una breve corto puedes puede el los las por favor fammi dammi fai uno breve puoi il lo faça dê me um uma pode
		请 帮我 给我 一下`)
	asksSubject = lazyregexp.New(`(?i)^\W*(?:what(?:'s|’s| is| are) .+ about|tell me about .+` +
		`|what do(?:es)? (?:this|the|that|my|these) (?:\w+ )?` + kindOfText + ` (?:say|contain|cover|describe)|what(?:'s|’s| is) (?:in|inside) (?:this|the|that|my) ` + kindOfText +
		`|(?:please )?(?:explain|describe|outline) (?:this|the|that|my) ` + kindOfText + `|what (?:topics|subjects|areas) (?:does|do|are) .+ (?:cover|covered in|discussed in|treat).*` +
		`|what are the (?:main|key) (?:topics|subjects)(?: (?:of|in) .+)?|worum geht(?:'s| es) .+|wovon handel\pL+ .+|de quoi (?:parle|traite|s['’]agit).+` +
		`|¿?de qué (?:trata|habla) .+|di (?:che )?cosa (?:parla|tratta) .+|do que (?:trata|fala) .+|.+(?:讲了什么|讲的是什么))\W*$`)
	interrogative = lazyregexp.New(`(?i)^\W*(?:who|where|when|which|why|how|what|is|are|do|does|did|has|have|may|must|should` +
		`|wo|wer|wann|wie|warum|welche\pL*|où|qui|quand|comment|pourquoi|quel\pL*|dónde|quién|cuándo|cómo|dove|chi|quando|come|onde|quem)(?:[^\pL]|$)`)
)

// kindOfText matches words for a text that may be asked about as a whole.
const kindOfText = `(?:document|file|text|paper|article|pdf|page|report)s?`

// summaryTerms are the terms of words that ask for a summary, or name a kind of text.
var summaryTerms = sync.OnceValue(func() map[string]bool {
	return termSet(`summary summarise summarize summarized overview gist tl dr tldr main key points ideas takeaways nutshell tell
		explain describe describes outline say says contain contains cover covers covered topic topics subject subjects
		short brief quick concise paragraph sentence sentences content contents document documents file text page paper article pdf report section chapter part
		abschnitt kapitel partie chapitre sección capítulo sezione capitolo seção 章 节 部分
		zusammenfassung zusammenfassen zusammen fasse fass überblick worum geht wovon handelt gib kurz kurze dokument datei inhalt
		résumé résumer résumez résume sommaire synthèse quoi parle traite fais faites donne donnez court courte fichier contenu texte
		resumen resume resumir resuma resúmeme dame haz trata habla documento archivo contenido texto breve
		riassunto riassumi riassumere fammi dammi parla tratta cosa sintesi resumo faça fala conteúdo arquivo ficheiro
		总结 概括 概述 摘要 主要 内容 文档 文件 文章 要約 概要 まとめ 文書 讲 请 一下`)
})

// asksSummary reports whether a question asks what a text says as a whole.
func asksSummary(question string) bool {
	if asksSubject.MatchString(question) {
		return true
	}
	at := summaryWord.FindStringIndex(question)
	if at == nil {
		return false
	}
	for w := range strings.FieldsSeq(strings.ToLower(question[:at[0]])) {
		if !beforeSummary[strings.Trim(w, ",.:;!?\"“”'’-—")] { // "travel policy, tl;dr"
			return strings.Trim(question[at[1]:], " .!?") == "" && !interrogative.MatchString(question)
		}
	}
	return true
}

// whole returns the passages that a question wants summarised, in their order: those of a document that it names, or those below
// a heading that it names. It returns none for any other question. A question that names nothing is about the subject of the
// conversation, or about the only document.
func (n need) whole(ev *llm.Evidence) []int {
	summary := asksSummary(ev.Query)
	named := slices.DeleteFunc(slices.Clone(n.terms), func(t weighted) bool {
		return summaryTerms()[t.text] || !summary && general()[t.text]
	})
	if n.asides == n.total { // only the conversation is left to go by
		named = nil
	}
	belongs := func(in func(p *llm.Passage) bool) (found []int) {
		document := ""
		for i := range ev.Passages {
			p := &ev.Passages[i]
			if d := documentAt(p); d != "" && (document == "" || document == d) && in(p) {
				document = d
				found = append(found, i)
			}
		}
		slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(ev.Passages[a].Part, ev.Passages[b].Part) })
		return found
	}
	switch {
	case !summary:
		return belongs(func(p *llm.Passage) bool {
			file := strings.ToLower(path.Base(documentAt(p)))
			return path.Ext(file) != "" && strings.Contains(strings.ToLower(ev.Query), file) && n.nameAll(named, file)
		})
	case len(named) == 0:
		other := func(p llm.Passage) bool { return documentAt(&p) != documentAt(&ev.Passages[0]) }
		if len(ev.Previous) == 0 && slices.ContainsFunc(ev.Passages, other) {
			return nil
		}
		return belongs(func(*llm.Passage) bool { return true })
	}
	if all := belongs(func(p *llm.Passage) bool { return n.nameAll(named, path.Base(documentAt(p))+"\n"+p.Title) }); len(all) > 0 {
		return all
	}
	return belongs(func(p *llm.Passage) bool { return n.nameAll(named, strings.Join(p.Headings, "\n")) })
}

// nameAll reports whether all terms are in a name.
func (n need) nameAll(terms []weighted, name string) bool {
	file := strings.ToLower(name)
	held := n.termSet(wordBreaks.Replace(name))
	return !slices.ContainsFunc(terms, func(t weighted) bool {
		return !held[t.text] && !held[likeMark+t.text] && !strings.Contains(file, t.text)
	})
}

var wordBreaks = strings.NewReplacer("-", " ", "_", " ", ".", " ", "/", " ")

// The lengths in bytes between which a block can open a summary.
const (
	minOpening = 40
	maxOpening = 450
)

// goesOn matches sentences that continue the text before them.
var goesOn = lazyregexp.New(`(?i)^(?:but|so|and|or|then|thus|hence|because|aber|also|denn|mais|donc|pero|entonces|ma|quindi|mas|então)\b|^(?:但|所以|因此)`)

// opening returns the units with which passages begin, within limits, as a summary of them: the first two of the first
// passage, and then one below each other heading. What answers a question says little without it, and is left out.
func opening(ev *llm.Evidence, units []unit, passages []int, most limits) (chosen []unit) {
	var at []int
	size, quotes := 0, 0
	pages := make(map[string]bool)
	seen := make(map[string]int)
	for i, passage := range passages {
		p := &ev.Passages[passage]
		under := strings.Join(p.Headings, "\n")
		allowed := 1
		if i == 0 {
			allowed = 2
		}
		for j := range units {
			u := &units[j]
			if u.passage != passage || seen[under] >= allowed || u.answers || goesOn.MatchString(u.key) {
				continue
			}
			length := u.end - u.start
			parts := len(appendQuotes(nil, p, u))
			if length < minOpening || length > maxOpening || u.features[leaning] > 0 || overlaps(units, at, j) ||
				size+length > most.bytes || quotes+parts > most.sentences || u.pagesWith(ev, pages) > most.pages {
				continue
			}
			seen[under]++
			size, quotes = size+length, quotes+parts
			for _, piece := range u.pieces {
				pages[p.CitationAt(piece.Start)] = true
			}
			at = append(at, j)
			chosen = append(chosen, *u)
		}
	}
	return chosen
}
