package azurechat

import (
	"fmt"
	"math"
	"slices"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

const (
	maxTop         = 50
	maxTemperature = 2
	maxTemplate    = 8 << 10 // bytes, as the engine has it; here, so that the error names the key
	maxCategory    = 256     // bytes
)

// overlay puts the settings of a request over the defaults. at is the path of the settings, for
// error messages. An unknown key is ignored and null means the default; a value that a known key
// cannot have is refused.
func overlay(defaults chat.Options, settings wire.Object, at string, vision bool) (chat.Options, error) {
	o := overrides{Options: defaults, images: chat.TextAndImages, texts: true, textVectors: true}
	for key, v := range settings.Members() {
		if v.IsNull() {
			continue
		}
		if want := o.set(key, v); want != "" {
			return chat.Options{}, wire.Invalidf(`"%s.%s" must be %s`, at, key, want)
		}
	}
	o.settle(vision)
	return o.Options, nil
}

// overrides is the options with what only has a meaning together.
type overrides struct {
	chat.Options
	vision bool            // use_gpt4v, send_image_sources
	images chat.ImageInput // gpt4v_input
	texts  bool            // send_text_sources

	textVectors bool // search_text_embeddings
}

// settle decides what several settings say together.
func (o *overrides) settle(vision bool) {
	if o.vision && vision {
		if o.Images = o.images; !o.texts {
			o.Images = chat.ImagesOnly
		}
	}
	if !o.textVectors {
		o.Mode = retrieval.Text // there are no other vectors
	}
}

// set applies one setting. It returns "" or what the value should have been.
func (o *overrides) set(key string, v wire.Value) string {
	switch key {
	case "top":
		return o.setTop(v)
	case "temperature":
		return o.setTemperature(v)
	case "retrieval_mode":
		return o.setMode(v)
	case "semantic_ranker":
		return setBool(&o.Rerank, v)
	case "semantic_captions":
		return setBool(&o.Captions, v)
	case "suggest_followup_questions":
		return setBool(&o.FollowUps, v)
	case "include_category":
		return setText(&o.IncludeCategory, v, maxCategory)
	case "exclude_category":
		return setText(&o.ExcludeCategory, v, maxCategory)
	case "prompt_template":
		return setText(&o.PromptTemplate, v, maxTemplate)
	case "minimum_search_score":
		return o.setMinScore(v)
	case "minimum_reranker_score":
		return o.setMinRerankScore(v)
	case "use_oid_security_filter":
		return tighten(&o.RequireUser, v)
	case "use_groups_security_filter":
		return tighten(&o.RequireGroup, v)
	case "use_gpt4v":
		return setBool(&o.vision, v)
	case "gpt4v_input":
		return o.setImages(v)
	case "vector_fields":
		return checkVectorFields(v)
	default:
		o.setLater(key, v)
	}
	return ""
}

// setLater takes what later front ends send. The documents do not know these keys, so a value that they
// cannot have is ignored, as an unknown key is.
func (o *overrides) setLater(key string, v wire.Value) {
	on, isBool := v.Bool()
	switch {
	case key == "reasoning_effort":
		if effort, ok := v.Text(); ok && slices.Contains(Efforts, effort) {
			o.Effort = effort // "" is the model's own
		}
	case !isBool:
	case key == "send_text_sources":
		o.texts = on
	case key == "send_image_sources":
		o.vision = o.vision || on
	case key == "search_text_embeddings":
		o.textVectors = on
	}
}

func (o *overrides) setTop(v wire.Value) string {
	n, ok := v.Number()
	if !ok || n != math.Trunc(n) {
		return "a whole number"
	}
	o.Top = int(min(max(n, 1), maxTop))
	return ""
}

func (o *overrides) setTemperature(v wire.Value) string {
	n, ok := v.Number()
	if !ok || n < 0 || n > maxTemperature {
		return "a number from 0 to 2"
	}
	o.Temperature = n
	return ""
}

// azureRerankScale is the best score of Azure's own reranker.
const azureRerankScale = 4

// setMinRerankScore takes a threshold in [0, 1], like every other one, or on the scale of Azure's
// reranker, on which its front ends send 1.9.
func (o *overrides) setMinRerankScore(v wire.Value) string {
	if want := setNumber(&o.MinRerankScore, v); want != "" {
		return want
	}
	if o.MinRerankScore > 1 {
		o.MinRerankScore = min(o.MinRerankScore/azureRerankScale, 1)
	}
	return ""
}

// setMinScore takes what a score can be. Other servers' scores have no upper end, so that their
// thresholds would find nothing here; the client is told rather.
func (o *overrides) setMinScore(v wire.Value) string {
	n, ok := v.Number()
	if !ok || n < 0 || n > 1 {
		return "a number from 0 to 1"
	}
	o.MinScore = n
	return ""
}

func (o *overrides) setMode(v wire.Value) string {
	name, _ := v.Text()
	switch mode := retrieval.Mode(name); mode {
	case retrieval.Text, retrieval.Vectors, retrieval.Hybrid:
		o.Mode = mode
		return ""
	}
	return `"hybrid", "text" or "vectors"`
}

func (o *overrides) setImages(v wire.Value) string {
	name, _ := v.Text()
	switch name {
	case "text", "texts":
		o.images = chat.ImagesOff
	case "textAndImages":
		o.images = chat.TextAndImages
	case "images":
		o.images = chat.ImagesOnly
	default:
		return `"text", "texts", "textAndImages" or "images"`
	}
	return ""
}

// Efforts are what reasoning_effort may be.
var Efforts = []string{"minimal", "low", "medium", "high"}

// checkVectorFields accepts the names of the documents and of later front ends, in a list or
// alone. There is one vector for each chunk here, so they select nothing.
func checkVectorFields(v wire.Value) string {
	const want = `a list of "embedding" and "imageEmbedding"`
	elements, ok := v.Elements()
	if !ok {
		elements = func(yield func(wire.Value) bool) { yield(v) }
	}
	for e := range elements {
		name, _ := e.Text()
		switch name {
		case "embedding", "imageEmbedding", "both", "textEmbeddingOnly", "imageEmbeddingOnly", "textAndImageEmbeddings":
		default:
			return want
		}
	}
	return ""
}

// tighten can switch a filter of the server on, never off.
func tighten(filter *bool, v wire.Value) string {
	var asked bool
	want := setBool(&asked, v)
	*filter = *filter || asked
	return want
}

func setBool(to *bool, v wire.Value) string {
	b, ok := v.Bool()
	if !ok {
		return "true or false"
	}
	*to = b
	return ""
}

func setText(to *string, v wire.Value, limit int) string {
	text, ok := v.Text()
	if !ok {
		return "a string"
	}
	if len(text) > limit {
		return fmt.Sprintf("at most %d bytes long", limit)
	}
	*to = text
	return ""
}

func setNumber(to *float64, v wire.Value) string {
	n, ok := v.Number()
	if !ok {
		return "a number"
	}
	*to = n
	return ""
}
