package azurechat

import (
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Settings describes the overrides that people may want to set, with what a request gets that does
// not set them.
func Settings(defaults chat.Options) []wire.Setting {
	return []wire.Setting{
		wire.Integer("top", "Passages", "How many passages of the documents are looked up for a question. More give a fuller picture and cost more tokens.",
			1, maxTop, defaults.Top),
		wire.Fraction("temperature", "Temperature", "How freely the model words its answer: 0 sticks to the likeliest words.", maxTemperature, defaults.Temperature),
		wire.Choice("retrieval_mode", "Search by", "Words find what is written; meanings (vectors) also find what is put otherwise; both together find most.",
			string(defaults.Mode), string(retrieval.Hybrid), string(retrieval.Text), string(retrieval.Vectors)).Needing("vectors"),
		wire.Switch("semantic_ranker", "Rerank", "Puts the passages that were found into a better order with a second look at each.", defaults.Rerank),
		wire.Switch("semantic_captions", "Captions", "Marks the sentences of each passage that fit the question best.", defaults.Captions),
		wire.Fraction("minimum_search_score", "Least score", "Passages that score lower are left out. 0 keeps all.", 1, defaults.MinScore),
		wire.Fraction("minimum_reranker_score", "Least score after reranking", "Passages that score lower once reranked are left out. 0 keeps all.", 1, defaults.MinRerankScore),
		wire.Switch("suggest_followup_questions", "Follow-up questions", "Suggests what to ask next.", defaults.FollowUps),
		wire.Text("include_category", "Only this category", "Looks only into documents of this category.", defaults.IncludeCategory),
		wire.Text("exclude_category", "Without this category", "Leaves documents of this category out.", defaults.ExcludeCategory),
		wire.Text("prompt_template", "Instructions", "Replaces the instructions to the model; with >>> before it, it is added to them instead.", defaults.PromptTemplate),
		wire.Switch("use_gpt4v", "Look at pages", "Gives the model pictures of the pages, so that it can read diagrams and tables.", false).Needing("vision"),
		wire.Choice("gpt4v_input", "What the model looks at", "Whether it is given the pages' texts, their pictures, or both.",
			"textAndImages", "textAndImages", "images", "text").Needing("vision"),
	}
}
