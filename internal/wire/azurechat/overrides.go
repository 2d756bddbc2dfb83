package azurechat

import (
	"math"
	"slices"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// named are the overrides that set an option of a turn directly.
var named = []wire.Named{
	{Name: "top", Option: wire.Top},
	{Name: "temperature", Option: wire.Temperature},
	{Name: "retrieval_mode", Option: wire.Mode},
	{Name: "semantic_ranker", Option: wire.Rerank},
	{Name: "semantic_captions", Option: wire.Captions},
	{Name: "minimum_search_score", Option: wire.MinScore},
	{Name: "minimum_reranker_score", Option: wire.MinRerankScore},
	{Name: "suggest_followup_questions", Option: wire.FollowUps},
	{Name: "include_category", Option: wire.IncludeCategory},
	{Name: "exclude_category", Option: wire.ExcludeCategory},
	{Name: "filter", Option: wire.Where}, {Name: "filters", Option: wire.Where},
	{Name: "prompt_template", Option: wire.PromptTemplate},
}

// overlay returns the defaults, overridden by the settings of a request. at is the path of the settings, for
// error messages. An unknown key is ignored, null means the default, and an invalid value of a known key is
// an error.
func overlay(defaults chat.Options, settings wire.Object, at string, vision, late bool) (chat.Options, error) {
	o := overrides{Options: defaults, late: late, images: chat.TextAndImages, texts: true, textVectors: true}
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

// overrides is the options, and the settings that take effect only in combination; see settle.
type overrides struct {
	chat.Options
	late   bool            // the client has the settings of the later samples
	vision bool            // use_gpt4v, send_image_sources
	images chat.ImageInput // gpt4v_input
	texts  bool            // send_text_sources

	textVectors bool // search_text_embeddings
}

// settle applies the settings that depend on each other.
func (o *overrides) settle(vision bool) {
	if o.vision && vision {
		if o.Images = o.images; !o.texts {
			o.Images = chat.ImagesOnly
		}
	}
	if !o.textVectors {
		o.Mode = retrieval.Text // all vectors are of texts
	}
}

// set applies one setting. It returns "", or a description of the valid values.
func (o *overrides) set(key string, v wire.Value) string {
	switch key {
	case "top":
		return o.setTop(v)
	case "minimum_reranker_score":
		return o.setMinRerankScore(v)
	case "use_oid_security_filter":
		return tighten(&o.RequireUser, v)
	case "use_groups_security_filter":
		return tighten(&o.RequireGroup, v)
	case "use_gpt4v":
		return setFlag(&o.vision, v)
	case "gpt4v_input":
		return o.setImages(v)
	case "vector_fields":
		return checkVectorFields(v)
	}
	if i := slices.IndexFunc(named, func(n wire.Named) bool { return n.Name == key }); i >= 0 {
		return named[i].Set(&o.Options, v)
	}
	set, known := laterSettings[key]
	if !known {
		return ""
	}
	if want := set(o, v); o.late {
		return want
	}
	return "" // the documents do not define these keys, so an invalid value is ignored like an unknown key
}

// setTop accepts any whole number and clamps it to the range of wire.Top.
func (o *overrides) setTop(v wire.Value) string {
	n, ok := v.Number()
	if !ok || n != math.Trunc(n) {
		return "a whole number"
	}
	o.Top = int(min(max(n, wire.Top.Least), wire.Top.Most))
	return ""
}

// azureRerankScale is the highest score of Azure's own reranker.
const azureRerankScale = 4

// setMinRerankScore accepts a threshold in [0, 1], like the other thresholds. A value above 1 is on the scale of
// Azure's reranker, whose front ends send 1.9.
func (o *overrides) setMinRerankScore(v wire.Value) string {
	n, ok := v.Number()
	if !ok {
		return "a number"
	}
	if o.MinRerankScore = n; n > 1 {
		o.MinRerankScore = min(n/azureRerankScale, 1)
	}
	return ""
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

// checkVectorFields accepts the names in the documents and those of later front ends, as a list or a
// single string. They have no effect, because each chunk has only one vector.
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

// tighten reads a boolean that can set *filter, but never clear it.
func tighten(filter *bool, v wire.Value) string {
	var asked bool
	want := setFlag(&asked, v)
	*filter = *filter || asked
	return want
}

func setFlag(to *bool, v wire.Value) string {
	on, ok := v.Bool()
	if !ok {
		return "true or false"
	}
	*to = on
	return ""
}
