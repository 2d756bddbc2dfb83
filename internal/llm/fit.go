package llm

import "slices"

// Fit returns the request without everything that a model of these capabilities does not accept, for the
// model's provider to encode. Temperature stays, because its zero has a meaning. If the model accepts no
// tools or no images, those of the history are described in words, so that a conversation that another
// model began is not refused.
func (c Capabilities) Fit(req Request) Request {
	if !c.Schema {
		req.Schema = nil
	}
	if !c.Effort {
		req.Effort = ""
	}
	if !c.TopP {
		req.TopP = 0
	}
	if !c.Stop {
		req.Stop = nil
	}
	if !c.Tools {
		req.Tools = nil
	}
	if len(req.Tools) == 0 {
		req.ToolChoice = ""
	}
	if !c.Tools || !c.Vision {
		req.Messages = c.fitMessages(req.Messages)
	}
	return req
}

func (c Capabilities) fitMessages(all []Message) []Message {
	fitted := make([]Message, 0, len(all))
	for _, m := range all {
		if !c.Tools && m.Role == ToolRole {
			m = Text(User, "A tool returned:\n"+m.Text())
		}
		if !c.Tools && len(m.ToolCalls) > 0 {
			m.ToolCalls = nil
			if m.Text() == "" {
				continue
			}
		}
		if !c.Vision {
			m.Parts = withoutImages(m.Parts)
		}
		fitted = append(fitted, m)
	}
	return fitted
}

func withoutImages(parts []Part) []Part {
	if !slices.ContainsFunc(parts, isImage) {
		return parts
	}
	parts = slices.DeleteFunc(slices.Clone(parts), isImage)
	return append(parts, Part{Text: "\n(There was an image here, which this model cannot read.)"})
}

func isImage(p Part) bool { return p.Image != "" }

// ReasoningRoom returns how many tokens a model may spend on reasoning at an effort, in addition to
// Request.MaxOutputTokens. If an upstream's limit covers both, its provider adds the two: a limit meant
// for the answer would often be used up before the answer begins.
func ReasoningRoom(effort string) int {
	switch effort {
	case "minimal":
		return 1024
	case "low":
		return 4096
	case "high":
		return 24_576
	}
	return 8192
}
