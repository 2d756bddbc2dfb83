package azurechat

import (
	"parley/internal/chat"
	"parley/internal/wire"
)

// Settings describes the overrides that people may want to set, with what a request gets that does
// not set them.
func Settings(defaults chat.Options) []wire.Setting {
	return append(wire.Settings(named, defaults),
		wire.Switch("use_gpt4v", "Look at pages", "Gives the model pictures of the pages, so that it can read diagrams and tables.", false).Needing("vision"),
		wire.Choice("gpt4v_input", "What the model looks at", "Whether it is given the pages' texts, their pictures, or both.",
			"textAndImages", "textAndImages", "images", "text").Needing("vision"),
	)
}
