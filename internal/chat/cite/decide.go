package cite

import "strings"

// decision says how the verifier treats a bracket.
type decision struct {
	n        int      // number of bytes of input that the decision covers
	labels   []string // citations to write, each in brackets, unless text is set
	invented []string // labels that the passages do not allow
	removed  bool     // the bracket is removed
	text     string   // the text to write instead
}

// decide decides what to do with the bracket with which in begins; ok is false when it needs more input.
func (v *verifier) decide(in string, final bool) (d decision, ok bool) {
	if v.json || v.code.inCode() {
		return v.decideLiteral(in, final)
	}
	if d, ok, is := v.decideOdd(in, final); is {
		return d, ok
	}
	if strings.HasPrefix(in, "[[") {
		return v.decideDouble(in, final)
	}
	open, shut, _ := brackets(in)
	end, ok := v.closing(in, open, shut, final)
	if !ok {
		return d, false
	}
	if end < 0 {
		return decision{n: len(open), text: open}, true
	}
	d.n = end + len(shut)
	inside, rest := in[len(open):end], in[d.n:]
	d.labels, d.invented = v.labels().resolve(inside)
	switch {
	case len(d.labels) > 0:
		return d, true
	case len(d.invented) == 0:
		return decision{n: len(open), text: open}, true // the text inside is decided separately
	case rest == "" && !final:
		return d, false
	}
	return v.decideLink(d, open, rest, final)
}

// closing returns the index of the bracket that closes the one with which in begins, or -1 if there is
// nothing between them, or if another bracket opens or the paragraph ends first, or the text is too long
// for a label. ok is false when it needs more input.
func (v *verifier) closing(in, open, shut string, final bool) (end int, ok bool) {
	body := in[len(open):]
	body = body[:min(len(body), maxLabelBytes+v.labels().most)]
	end = strings.Index(body, shut)
	for _, stop := range []string{open, "\n\n"} {
		if i := strings.Index(body, stop); i >= 0 && (end < 0 || i < end) {
			return -1, true
		}
	}
	switch {
	case end > 0:
		return len(open) + end, true
	case end == 0 || final || len(in) >= maxLabelBytes+v.labels().most:
		return -1, true
	}
	return 0, false
}

// decideOdd decides about a label that itself contains brackets; is reports whether there is, or may be, one.
func (v *verifier) decideOdd(in string, final bool) (d decision, ok, is bool) {
	best := ""
	for _, label := range v.labels().odd {
		written := "[" + label + "]"
		switch {
		case strings.HasPrefix(in, written):
			if len(label) > len(best) {
				best = label
			}
		case strings.HasPrefix(written, in) && !final:
			return d, false, true
		}
	}
	if best == "" {
		return d, false, false
	}
	return decision{n: len(best) + 2, labels: []string{best}}, true, true
}

// decideDouble decides about a label in two pairs of brackets, one of which is superfluous.
func (v *verifier) decideDouble(in string, final bool) (d decision, ok bool) {
	outer := decision{n: 1, text: "["}
	if strings.HasPrefix(in, "[[[") {
		return outer, true
	}
	d, ok = v.decide(in[1:], final)
	if !ok {
		return d, false
	}
	if len(d.labels) == 0 && !d.removed {
		return outer, true
	}
	rest := in[1+d.n:]
	if rest == "" && !final {
		return d, false
	}
	if !strings.HasPrefix(rest, "]") {
		return outer, true
	}
	d.n += 2
	return d, true
}

// decideLink decides about a label that the passages do not allow, together with the text after it. If the
// label is the text of a link to an address that the model was shown, it is not a citation, unless it has
// Parley's own form.
func (v *verifier) decideLink(d decision, open, rest string, final bool) (decision, bool) {
	d.removed = true
	if !strings.HasPrefix(rest, "(") {
		return d, true
	}
	t, ok := linkTarget(rest, final)
	switch {
	case !ok:
		return d, false
	case t.n > 0 && v.wasShown(t.url) && !ownForm.MatchString(d.invented[0]):
		return decision{n: len(open), text: open}, true
	}
	d.n += t.n
	return d, true
}

// decideLiteral decides about a bracket in code or JSON, where only Parley's own form is a citation.
func (v *verifier) decideLiteral(in string, final bool) (d decision, ok bool) {
	open, _, _ := brackets(in)
	pass := decision{n: len(open), text: open}
	body := in[len(open):]
	end := strings.IndexAny(body, "[]\n")
	switch {
	case open != "[":
		return pass, true
	case end < 0 && !final && len(body) < maxLabelBytes+v.labels().most:
		return pass, false
	case end < 0 || body[end] != ']':
		return pass, true
	}
	label := body[:end]
	d.n = end + 2
	if !ownForm.MatchString(label) {
		return pass, true
	}
	if _, known := v.labels().exact[label]; known {
		d.labels, d.text = []string{label}, in[:d.n]
		return d, true
	}
	d.removed, d.invented = true, []string{shorten(label)}
	return d, true
}

// labels returns the labels that may be cited.
func (v *verifier) labels() *labels {
	if v.known == nil {
		v.known = newLabels(Citable(v.passages))
	}
	return v.known
}
