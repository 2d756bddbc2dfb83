package wire

// Probe holds what the dispatch of POST /chat needs to know about a body.
type Probe struct {
	HasMessage      bool // the key "message" is present
	MessageIsString bool // and its value is a string
	HasMessages     bool // the key "messages" is present
	HasInput        bool // the key "input" is present
	HasStream       bool // the key "stream" is present, whatever its value
}

// Probe examines the top-level keys of the body. The error is that of Object.
func (r *Request) Probe() (Probe, error) {
	object, err := r.Object()
	if err != nil {
		return Probe{}, err
	}
	var b struct {
		Message  Value `json:"message"`
		Messages Value `json:"messages"`
		Input    Value `json:"input"`
		Stream   Value `json:"stream"`
	}
	object.Read(&b)
	return Probe{
		HasMessage: b.Message != nil, MessageIsString: b.Message.first() == '"', HasMessages: b.Messages != nil,
		HasInput: b.Input != nil, HasStream: b.Stream != nil,
	}, nil
}
