package llm

// Override corrects a provider's declaration for a model, which is based only on the model's name. Zero
// and nil fields leave it unchanged.
type Override struct {
	Like string // a similar model of the same provider; for deployments, whose names say nothing

	Vision      *bool
	Tools       *bool
	Schema      *bool
	Effort      *bool
	Temperature *bool
	TopP        *bool
	Stop        *bool
	Context     *int
}

// Overrides are keyed by the name of the model, without the provider prefix. Nil has none.
type Overrides map[string]Override

// Like returns the model whose declaration applies to a model.
func (o Overrides) Like(model string) string {
	if like := o[model].Like; like != "" {
		return like
	}
	return model
}

// Apply returns the declared capabilities of a model with its corrections.
func (o Overrides) Apply(model string, declared Capabilities) Capabilities {
	over, c := o[model], declared
	correct(&c.Vision, over.Vision)
	correct(&c.Tools, over.Tools)
	correct(&c.Schema, over.Schema)
	correct(&c.Effort, over.Effort)
	correct(&c.Temperature, over.Temperature)
	correct(&c.TopP, over.TopP)
	correct(&c.Stop, over.Stop)
	correct(&c.Context, over.Context)
	return c
}

func correct[T any](declared, given *T) {
	if given != nil {
		*declared = *given
	}
}
