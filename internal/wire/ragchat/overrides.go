package ragchat

import (
	"parley/internal/chat"
	"parley/internal/wire"
)

// overrideTable has the overrides of the AI Chat Protocol that do not correspond to one option.
var overrideTable = map[string]setter{
	"use_gpt4v":                  func(x *exchange, v wire.Value) string { return setBool(&x.pictures.on, v) },
	"gpt4v_input":                setPictures,
	"use_oid_security_filter":    func(x *exchange, v wire.Value) string { return tighten(&x.req.Options.RequireUser, v) },
	"use_groups_security_filter": func(x *exchange, v wire.Value) string { return tighten(&x.req.Options.RequireGroup, v) },
}

func setPictures(x *exchange, v wire.Value) string {
	name, _ := v.Text()
	input, known := pictureInputs[name]
	if !known {
		return `"text", "texts", "textAndImages" or "images"`
	}
	x.pictures.input = input
	return ""
}

var pictureInputs = map[string]pictureInput{
	"text": withoutPictures, "texts": withoutPictures, "textAndImages": besideText, "images": picturesOnly,
}

// pictures says whether and how a vision model gets pictures of pages. The two values are read separately, but have
// a meaning only together.
type pictures struct {
	on    bool
	input pictureInput
}

type pictureInput int

const (
	besideText pictureInput = iota // the default
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

// tighten can switch a filter of the server on, but never off.
func tighten(filter *bool, v wire.Value) string {
	var asked bool
	want := setBool(&asked, v)
	*filter = *filter || asked
	return want
}
