package retrieval

import (
	"context"

	"parley/internal/lexical"
	"parley/internal/text"
	"parley/internal/thesaurus"
)

// The weights of words of like meaning in a search, relative to the word of the question. If chunks hold that word, its synonyms
// hardly change the ranking, but they tell the answerer what else may stand for it.
const (
	likeWeight    = 0.05
	insteadWeight = 0.5 // if no chunk holds the question's word
	phraseWeight  = 0.7 // of each word of a phrase that means the same as one of the question
	maxLikes      = 8   // for one word
	maxLiked      = 32  // words of a question for which others are looked up
)

// withLikes returns the terms of a question, each followed by words of like meaning that chunks hold.
func withLikes(ctx context.Context, v *lexical.View, language string, terms []Term, at map[string]int) []Term {
	all := make([]Term, 0, len(terms))
	for i, t := range terms {
		all = append(all, t)
		if i >= maxLiked || i+1 < len(terms) && terms[i+1].Other || ctx.Err() != nil {
			continue
		}
		weight := t.Weight * likeWeight
		if !t.Known {
			weight = t.Weight * insteadWeight
		}
		for _, like := range likesOf(v, language, t, weight) {
			if _, there := at[like.Text]; !there {
				at[like.Text] = len(all)
				all = append(all, like)
			}
		}
	}
	return all
}

// likesOf returns the words of like meaning that chunks hold, in the forms that they have there.
func likesOf(v *lexical.View, language string, t Term, weight float64) (likes []Term) {
	for _, word := range thesaurus.Like(language, t.Word) {
		for _, form := range text.Forms(language, word) {
			like := newTerm(v, form, word, weight)
			if like.Like = true; like.Known && len(likes) < maxLikes {
				likes = append(likes, like)
			}
		}
	}
	return likes
}

// otherPhrases returns those words of phrases that mean the same as a phrase of the question that the question lacks. They find
// passages but are not terms of the question: one of them alone, such as "property" for "capex", is not evidence.
func otherPhrases(ctx context.Context, v *lexical.View, question string, terms []Term) (words []lexical.Term) {
	there := make(map[string]bool, len(terms))
	for _, t := range terms {
		there[t.Text] = !t.Like
	}
	for _, phrase := range thesaurus.Phrases(text.LanguageOf(question), question) {
		for _, word := range text.Terms(phrase) {
			if !there[word] && ctx.Err() == nil && v.Stat(word).Known {
				there[word] = true
				words = append(words, lexical.Term{Text: word, Weight: phraseWeight})
			}
		}
	}
	return words
}
