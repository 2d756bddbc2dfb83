package wire

// Setting describes one thing that a request of a protocol may set, for people who see it in a form.
type Setting struct {
	Name    string      `json:"name"` // as the protocol has it
	Title   string      `json:"title"`
	Help    string      `json:"help"` // one or two plain sentences
	Type    SettingType `json:"type"`
	Min     float64     `json:"min"` // of numbers, as are the next two; all 0 for the others
	Max     float64     `json:"max"`
	Step    float64     `json:"step"`
	Default any         `json:"default"` // what a request gets that does not set it
	Options []string    `json:"options"` // of a choice
	Needs   string      `json:"needs"`   // what the server must be able to do: vectors, rerank, vision, tools, web_search; "" for nothing
}

// SettingType is what a setting's value is.
type SettingType string

// The types of settings.
const (
	IntegerSetting SettingType = "integer"
	NumberSetting  SettingType = "number"
	BooleanSetting SettingType = "boolean"
	TextSetting    SettingType = "text"
	ChoiceSetting  SettingType = "choice"
)

// Switch returns the setting of a thing that is on or off.
func Switch(name, title, help string, otherwise bool) Setting {
	return Setting{Name: name, Title: title, Help: help, Type: BooleanSetting, Default: otherwise, Options: []string{}}
}

// Text returns the setting of a text.
func Text(name, title, help, otherwise string) Setting {
	return Setting{Name: name, Title: title, Help: help, Type: TextSetting, Default: otherwise, Options: []string{}}
}

// Choice returns the setting of one of several words.
func Choice(name, title, help, otherwise string, options ...string) Setting {
	return Setting{Name: name, Title: title, Help: help, Type: ChoiceSetting, Default: otherwise, Options: options}
}

// Needing returns the setting with what the server must be able to do for it.
func (s Setting) Needing(capability string) Setting {
	s.Needs = capability
	return s
}
