package llm

// Override corrects what a provider declares of a model, which it can know only by the model's
// name. What is zero or nil is left as declared.
type Override struct {
	Like string // a model of the same provider that it is like; for deployments, whose names say nothing

	Vision      *bool
	Tools       *bool
	Schema      *bool
	Effort      *bool
	Temperature *bool
	TopP        *bool
	Stop        *bool
	Context     *int
}

// Overrides are by the name of the model, without the provider prefix. Nil has none.
type Overrides map[string]Override

// Like returns the model whose declaration holds for a model.
func (o Overrides) Like(model string) string {
	if like := o[model].Like; like != "" {
		return like
	}
	return model
}

// Apply returns what is declared of a model with the corrections to it.
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
