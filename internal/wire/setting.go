package wire

// Setting describes a request option of a protocol, for a form that people fill in.
type Setting struct {
	Name    string      `json:"name"` // in the protocol
	Title   string      `json:"title"`
	Help    string      `json:"help"` // one or two plain sentences
	Type    SettingType `json:"type"`
	Min     float64     `json:"min"` // Min, Max and Step are 0 for types other than numbers
	Max     float64     `json:"max"`
	Step    float64     `json:"step"`
	Default any         `json:"default"` // the value if a request does not set it
	Options []string    `json:"options"` // the values of a ChoiceSetting
	Needs   string      `json:"needs"`   // the server capability it requires: vectors, rerank, vision, tools, web_search; "" for none
}

// SettingType is the type of a setting's value.
type SettingType string

// The types of settings.
const (
	IntegerSetting SettingType = "integer"
	NumberSetting  SettingType = "number"
	BooleanSetting SettingType = "boolean"
	TextSetting    SettingType = "text"
	ChoiceSetting  SettingType = "choice"
)

// Switch returns a setting that is on or off; otherwise is its default.
func Switch(name, title, help string, otherwise bool) Setting {
	return Setting{Name: name, Title: title, Help: help, Type: BooleanSetting, Default: otherwise, Options: []string{}}
}

// Text returns a setting whose value is text; otherwise is its default.
func Text(name, title, help, otherwise string) Setting {
	return Setting{Name: name, Title: title, Help: help, Type: TextSetting, Default: otherwise, Options: []string{}}
}

// Choice returns a setting whose value is one of options; otherwise is its default.
func Choice(name, title, help, otherwise string, options ...string) Setting {
	return Setting{Name: name, Title: title, Help: help, Type: ChoiceSetting, Default: otherwise, Options: options}
}

// Needing returns a copy of the setting that requires a capability of the server.
func (s Setting) Needing(capability string) Setting {
	s.Needs = capability
	return s
}
