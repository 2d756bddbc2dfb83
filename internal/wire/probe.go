package wire

// Probe is what the dispatch of POST /chat needs to know of a body.
type Probe struct {
	HasMessage      bool // the key "message" is there
	MessageIsString bool // and its value is a string
	HasMessages     bool // the key "messages" is there
	HasStream       bool // the key "stream" is there, whatever its value
}

// Probe looks at the top-level keys of a body. The error is that of Object.
func (r *Request) Probe() (Probe, error) {
	object, err := r.Object()
	if err != nil {
		return Probe{}, err
	}
	var p Probe
	for key, v := range object.Members() {
		switch key {
		case "message":
			p.HasMessage = true
			_, p.MessageIsString = v.Text()
		case "messages":
			p.HasMessages = true
		case "stream":
			p.HasStream = true
		}
	}
	return p, nil
}
