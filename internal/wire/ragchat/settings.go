package ragchat

import "parley/internal/wire"

// Settings describes the parameters of requests that people may want to set. Their defaults are those
// of GET /api/config.
func Settings(d Defaults) []wire.Setting {
	return []wire.Setting{
		wire.Integer("top_k", "Passages", "How many passages of the documents are looked up for a question. More give a fuller picture and cost more tokens.",
			1, maxTop, d.TopK),
		wire.Fraction("score_threshold", "Least score", "Passages that score lower are left out. 0 keeps all.", 1, d.ScoreThreshold),
		wire.Fraction("temperature", "Temperature", "How freely the model words its answer: 0 sticks to the likeliest words.", maxTemperature, d.Temperature),
		wire.Fraction("top_p", "Top p", "The model chooses among the likeliest words that together make this share. Lower is more predictable.", 1, d.TopP),
		wire.Integer("max_output_tokens", "Longest answer", "The most tokens of an answer; one token is about three quarters of a word.",
			1, maxOutputTokens, d.MaxOutputTokens),
		wire.Choice("reasoning_effort", "Reasoning", "How long a model that reasons is to think before it answers. Others ignore it.",
			d.ReasoningEffort, "", "minimal", "low", "medium", "high"),
		wire.Switch("enable_query_rewrite", "Rewrite questions", "Makes a follow-up question complete with what was said before, so that the right passages are found.", d.EnableRewrite),
		wire.Fraction("rewrite_confidence_threshold", "Rewrite confidence", "A rewritten question is used only when the rewriter is at least this sure of it.", 1, d.RewriteThreshold),
		wire.Integer("rewrite_tail_turns", "Turns to rewrite from", "How many of the last turns the rewriter sees in full.", 0, maxTurns, d.RewriteTailTurns),
		wire.Integer("rewrite_summary_turns", "Earlier turns to rewrite from", "Of how many turns before those the rewriter sees the beginnings.", 0, maxTurns, d.RewriteSummaryTurns),
		wire.Switch("clarify", "Ask back", "When a question can mean several things, ask which one is meant instead of answering.", d.Clarify),
		wire.Integer("raw_tail_turns", "Turns kept as they are", "How many of the last turns of a long conversation are given to the model in full; what is older is summed up.",
			0, maxTurns, d.RawTailTurns),
		wire.Integer("summarizer_max_input_tokens", "Summary reads", "The most tokens of the conversation that are summed up at a time.", 1, maxSummaryIn, d.SummarizerInput),
		wire.Integer("summarizer_max_output_tokens", "Summary length", "The most tokens of a summary.", 1, maxSummaryOut, d.SummarizerOutput),
		wire.Switch("use_tools", "Use tools", "The model may call the tools of this server, such as another search or a calculator.", d.UseTools).Needing("tools"),
		wire.Switch("use_web_search", "Search the web", "The model may also look up pages of the web.", d.UseWebSearch).Needing("web_search"),
		wire.Switch("show_sources", "List sources", "Puts a list of the cited sources below the answer.", d.ShowSources),
		wire.Switch("render_html", "Answer as HTML", "Sends the answer once more as sanitised HTML.", d.RenderHTML),
		wire.Text("prompt_domain", "Prompts", "Which set of prompts the models are given.", "default"),
	}
}
