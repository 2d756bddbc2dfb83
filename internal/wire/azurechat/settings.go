package azurechat

import (
	"parley/internal/chat"
	"parley/internal/wire"
)

// Settings describes the overrides that users may want to set. defaults are the values that apply to a request
// that does not set them.
func Settings(defaults chat.Options) []wire.Setting {
	return append(wire.Settings(named, defaults),
		wire.Switch("use_gpt4v", "Look at pages", "Gives the model pictures of the pages, so that it can read diagrams and tables.", false).Needing("vision"),
		wire.Choice("gpt4v_input", "What the model looks at", "Gives the model the text of the pages, pictures of them, or both.",
			"textAndImages", "textAndImages", "images", "text").Needing("vision"),
		wire.Switch("use_oid_security_filter", "Only documents that name me", "Leaves out documents that are open to everybody.", false),
		wire.Switch("use_groups_security_filter", "Only documents of my groups", "Leaves out documents that are open to everybody.", false),
	)
}
