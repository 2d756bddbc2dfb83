package builtin

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// tongue has the forms of questions in a language other than English.
type tongue struct {
	says    string             // asks what a document says about something: the document, the thing
	about   string             // asks what is said about something in any document
	explain string             // asks to explain the subject of a heading that begins like a question
	process *lazyregexp.Regexp // matches headings that name something that is done
	works   string             // asks how that works; follows an article
	defines *lazyregexp.Regexp // matches a definition: its article, its name, the verb
	what    string             // asks what that is
	several string             // … where there are several
}

var tongues = map[string]tongue{
	"de": {
		"Was sagt „%s“ über „%s“?", "Was gilt für „%s“?", "Können Sie erklären, %s?",
		lazyregexp.New(`^\p{Lu}\pL{3,}(?:ung|tion)$`), "Wie funktioniert die %s?",
		lazyregexp.New(`^((?:Eine?|D(?:er|ie|as)) )?(\p{Lu}[\pL-]+) (ist|sind) (?:eine?|d(?:er|ie|as)|jede[rs]?) `), "Was ist %s%s?", "Was sind %s%s?",
	},
	"fr": {
		"Que dit « %s » sur « %s » ?", "Que faut-il savoir sur « %s » ?", "Pouvez-vous expliquer %s ?",
		lazyregexp.New(`^\p{Lu}\pL{3,}[ts]ion$`), "Comment fonctionne la %s ?",
		lazyregexp.New(`^(L[ea] |Les |L[’'])([\pL-]+(?: d(?:e|u|es) [\pL-]+)?) (est|sont) (?:une?|les?|la|des) `), "Qu’est-ce que %s%s ?", "Que sont %s%s ?",
	},
	"es": {
		"¿Qué dice «%s» sobre «%s»?", "¿Qué hay que saber sobre «%s»?", "¿Puede explicar %s?",
		lazyregexp.New(`^\p{Lu}\pL{3,}[cs]ión$`), "¿Cómo funciona la %s?",
		lazyregexp.New(`^(El |La |Los |Las )([\pL-]+(?: de [\pL-]+)?) (es|son) (?:una?|el|la|los|las) `), "¿Qué es %s%s?", "¿Qué son %s%s?",
	},
	"it": {
		"Che cosa dice «%s» su «%s»?", "Che cosa bisogna sapere su «%s»?", "Può spiegare %s?",
		lazyregexp.New(`^\p{Lu}\pL{3,}[zs]ione$`), "Come funziona la %s?",
		lazyregexp.New(`^(Il |La |Lo |I |Gli |Le |L[’'])([\pL-]+(?: di [\pL-]+)?) (è|sono) (?:una?|il|la|lo|i|gli|le) `), "Che cos’è %s%s?", "Che cosa sono %s%s?",
	},
	"pt": {
		"O que diz «%s» sobre «%s»?", "O que é preciso saber sobre «%s»?", "Pode explicar %s?",
		lazyregexp.New(`^\p{Lu}\pL{3,}[çs]ão$`), "Como funciona a %s?",
		lazyregexp.New(`^(O |A |Os |As )([\pL-]+(?: de [\pL-]+)?) (é|são) (?:uma?|os?|as?) `), "O que é %s%s?", "O que são %s%s?",
	},
	"zh": {
		says: "《%s》对“%s”有什么规定？", about: "关于“%s”有什么规定？",
		defines: lazyregexp.New(`^()(\p{Han}{2,8})，?(是指)`), what: "什么是%s%s？", several: "什么是%s%s？",
	},
}

// languagesOf returns the language of each document, from all of its passages: a passage that holds mostly names or code does
// not show it alone.
func languagesOf(passages []retrieval.Passage) map[string]string {
	texts := make(map[string]string)
	for _, p := range passages {
		texts[p.Document.Name] += strings.Join(p.Chunk.Headings, "\n") + "\n" + p.Chunk.Text + "\n"
	}
	for name, s := range texts {
		texts[name] = text.LanguageOf(s)
	}
	return texts
}

// fromHeading returns the question that a heading answers, "" for none, and whether it only asks what is said about the heading.
func (t *tongue) fromHeading(h, title string) (question string, plain bool) {
	h = bare(h)
	switch {
	case strings.HasSuffix(h, "?") || strings.HasSuffix(h, "？"):
		return h, false
	case isVague(h) || len(strings.Fields(h)) > 9 || utf8.RuneCountInString(h) > 80 || len(text.Terms(h)) == 0 || !isMostlyLetters(h):
		return "", false
	case t.process != nil && t.process.MatchString(h):
		s := h
		if !strings.HasPrefix(t.works, "Wie") { // German nouns keep their capital
			s = lowerFirst(h)
		}
		return elided.ReplaceAllString(fmt.Sprintf(t.works, s), "${1}l’${2}"), false
	case t.explain != "" && askingHeading.MatchString(h):
		return fmt.Sprintf(t.explain, lowerFirst(h)), false
	case isTitle(title) && !strings.EqualFold(bare(title), h):
		return fmt.Sprintf(t.says, bare(title), h), true
	}
	return fmt.Sprintf(t.about, h), true
}

// elided matches the article of French and Italian before a vowel.
var elided = lazyregexp.New(`((?:fonctionne|funziona) )la ([aeiouéèêh])`)

// fromDefinition returns the question that a defining sentence answers.
func (t *tongue) fromDefinition(s string) string {
	m := t.defines.FindStringSubmatch(s)
	if m == nil || len(text.Terms(m[2])) == 0 || openings.MatchString(m[2]) {
		return "" // "Dies ist …"
	}
	what := t.what
	switch m[3] {
	case "sind", "sont", "son", "sono", "são":
		what = t.several
	}
	return fmt.Sprintf(what, strings.ToLower(m[1]), m[2])
}

// maxTitleWords is how many words the name of a document may have in a question.
const maxTitleWords = 5

// isTitle reports whether the name of a document is one that a person would say.
func isTitle(title string) bool {
	title = bare(title)
	return isMostlyLetters(title) && !strings.ContainsAny(title, "._/") && utf8.RuneCountInString(title) > 3 && len(strings.Fields(title)) <= maxTitleWords &&
		len(text.Terms(title)) > 0 && !isVague(title)
}

func lowerFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[size:]
}

// aPart matches headings that only count the parts of a document.
var aPart = lazyregexp.New(`(?i)^(?:kapitel|chapter|chapitre|cap[ií]tulo|capitolo|teil|part|partie|parte|anhang|appendix|annexe?|anexo|allegato|abschnitt|section|sección|sezione|seção) ?[\dIVXA-Z.]{0,6}$|^第.{1,4}[章节条编]$`)

// isVague reports whether a heading says nothing about the text below it.
func isVague(h string) bool { return vague[strings.ToLower(h)] || aPart.MatchString(h) }

// vague are headings that say nothing about the text below them.
var vague = set(`introduction overview general preamble summary contents background conclusion miscellaneous notes other
	einleitung einführung überblick allgemeines inhalt inhaltsverzeichnis hintergrund zusammenfassung verschiedenes sonstiges anmerkungen vorwort
	aperçu généralités sommaire contexte résumé divers remarques préambule introducción generalidades resumen índice antecedentes varios notas
	introduzione panoramica generalità sommario indice note varie premessa introdução resumo sumário diversos preâmbulo 简介 概述 总则 目录 前言 附则 其他 摘要 背景`)
