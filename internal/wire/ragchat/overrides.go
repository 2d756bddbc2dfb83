package ragchat

import (
	"fmt"
	"slices"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// overrideTable has the settings of the AI Chat Protocol's overrides that this API has no parameter
// for, under their names there: an extension, so that one request can set everything that the engine
// can do. They mean what they mean there.
var overrideTable = map[string]setter{
	"retrieval_mode": func(x *exchange, v wire.Value) string {
		name, _ := v.Text()
		mode := retrieval.Mode(name)
		if !slices.Contains([]retrieval.Mode{retrieval.Hybrid, retrieval.Text, retrieval.Vectors}, mode) {
			return `"hybrid", "text" or "vectors"`
		}
		x.req.Options.Mode = mode
		return ""
	},
	"semantic_ranker":   func(x *exchange, v wire.Value) string { return setBool(&x.req.Options.Rerank, v) },
	"semantic_captions": func(x *exchange, v wire.Value) string { return setBool(&x.req.Options.Captions, v) },
	"minimum_reranker_score": func(x *exchange, v wire.Value) string {
		return setNumber(&x.req.Options.MinRerankScore, v, 1)
	},
	"include_category": func(x *exchange, v wire.Value) string {
		return setLimited(&x.req.Options.IncludeCategory, v, maxName)
	},
	"exclude_category": func(x *exchange, v wire.Value) string {
		return setLimited(&x.req.Options.ExcludeCategory, v, maxName)
	},
	"suggest_followup_questions": func(x *exchange, v wire.Value) string { return setBool(&x.req.Options.FollowUps, v) },
	"prompt_template": func(x *exchange, v wire.Value) string {
		return setLimited(&x.req.Options.PromptTemplate, v, maxTemplate)
	},
	"use_gpt4v": func(x *exchange, v wire.Value) string { return setBool(&x.pictures.on, v) },
	"gpt4v_input": func(x *exchange, v wire.Value) string {
		name, _ := v.Text()
		input, known := pictureInputs[name]
		if !known {
			return `"text", "texts", "textAndImages" or "images"`
		}
		x.pictures.input = input
		return ""
	},
	"use_oid_security_filter": func(x *exchange, v wire.Value) string {
		return tighten(&x.req.Options.RequireUser, v)
	},
	"use_groups_security_filter": func(x *exchange, v wire.Value) string {
		return tighten(&x.req.Options.RequireGroup, v)
	},
}

const maxTemplate = 8 << 10 // bytes, as the engine has it; here, so that the error names the parameter

var pictureInputs = map[string]pictureInput{
	"text": withoutPictures, "texts": withoutPictures, "textAndImages": besideText, "images": picturesOnly,
}

// pictures says whether a vision model is shown pages, and how: the two have a meaning only together.
type pictures struct {
	on    bool
	input pictureInput
}

type pictureInput int

const (
	besideText pictureInput = iota // unless the request says otherwise
	picturesOnly
	withoutPictures
)

func (p pictures) apply(o *chat.Options) {
	switch {
	case !p.on || p.input == withoutPictures:
	case p.input == picturesOnly:
		o.Images = chat.ImagesOnly
	default:
		o.Images = chat.TextAndImages
	}
}

// tighten can switch a filter of the server on, never off.
func tighten(filter *bool, v wire.Value) string {
	var asked bool
	want := setBool(&asked, v)
	*filter = *filter || asked
	return want
}

func setLimited(to *string, v wire.Value, limit int) string {
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
