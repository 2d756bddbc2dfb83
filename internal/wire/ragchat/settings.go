package ragchat

import (
	"parley/internal/chat"
	"parley/internal/wire"
)

// Settings describes the parameters of requests that people may want to set, with the defaults d.
func Settings(d Defaults) []wire.Setting {
	var o chat.Options
	d.apply(&o)
	return append(wire.Settings(ownOptions, o),
		wire.Switch("use_web_search", "Search the web", "The model may also look up web pages.", d.UseWebSearch).Needing("web_search"),
		wire.Switch("show_sources", "List sources", "Puts a list of the cited sources below the answer.", d.ShowSources),
		wire.Switch("show_processing_steps", "Steps", "Streams the steps while they run.", d.ShowSteps),
		wire.Switch("render_html", "Answer as HTML", "Also returns the answer as sanitised HTML.", d.RenderHTML),
		wire.Text("prompt_domain", "Prompts", "The set of prompts that the models use.", "default"),
	)
}
