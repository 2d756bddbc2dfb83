package wiki

import (
	"strings"

	"parley/internal/lazyregexp"
)

// text returns the text that a template shows, as far as that is known without its wiki.
func (c wikiCall) text() string {
	if strings.HasPrefix(c.name, "{") { // a parameter with its default: {{{1|text}}}
		return c.arg(0)
	}
	if function, value, ok := strings.Cut(c.title, ":"); ok {
		switch strings.ToLower(function) {
		case "formatnum", "lc", "uc", "lcfirst", "ucfirst":
			return value
		}
		return ""
	}
	if show, ok := wikiShows[c.name]; ok {
		return show(c)
	}
	for _, f := range wikiFamilies {
		if f.name.MatchString(c.name) {
			return f.show(c)
		}
	}
	// An unknown template with only one or two texts mostly just formats them.
	if n := len(c.args); n > 0 && n <= 2 && len(c.named) == 0 && c.lines == 0 {
		return c.last()
	}
	return ""
}

type wikiShow func(wikiCall) string

// The ways in which templates show their arguments.
var (
	showNothing wikiShow = func(wikiCall) string { return "" }
	showFirst   wikiShow = func(c wikiCall) string { return c.arg(0) }
	showLast    wikiShow = wikiCall.last
	showAll     wikiShow = func(c wikiCall) string { return strings.Join(c.args, "") }
	showWords   wikiShow = func(c wikiCall) string { return strings.Join(c.args, " ") }
	showList    wikiShow = func(c wikiCall) string { return wikiList(c.args) }
	showDate    wikiShow = func(c wikiCall) string { return wikiDate(c.numbers(3)) }
	showFrac    wikiShow = func(c wikiCall) string { return strings.Join(c.args, "/") }
	showText             = func(s string) wikiShow { return func(wikiCall) string { return s } }
	showAfter            = func(s string) wikiShow { return func(c wikiCall) string { return s + c.arg(0) } }
)

// wikiShows are templates of the large wikis by name.
var wikiShows = shows(map[string]wikiShow{
	"nowrap nobr nobreak small smaller big larger em strong bold italic b i u code mono samp kbd var mvar math": showFirst,
	"nobold noitalic center centre sc smallcaps sub sup su highlight mark abbr abbrlink tooltip dfn":            showFirst,
	"ill url official flag flagu flagcountry fb plain quote cquote blockquote quotation bq":                     showFirst,
	"color transl lang transliteration sort font":                                                               showLast,
	"chem chem2 ce": showAll,
	"sortname":      showWords,
	"plainlist flatlist ubl hlist cslist flowlist ublist ulist ol ul list unbulleted_list bulleted_list": showList,
	"dts dtsh frac-date":                showDate,
	"frac fraction sfrac":               showFrac,
	"nbsp space spaces nbs thinsp hair": showText(" "),
	"snd spnd spndash dash ndash en– –": showText(" – "),
	"mdash em— emdash —":                showText("—"),
	"! (!":                              showText("|"),
	"= equals":                          showText("="),
	"· • dot bullet middot bull":        showText(" · "),
	"' as":                              showText("'"),
	"c. circa ca.":                      showAfter("c. "),
	"us$ usd a$ cad":                    showAfter("$"),
	"£ gbp":                             showAfter("£"),
	"€ euro eur":                        showAfter("€"),
	"reflist notelist notes refbegin refend clear - main further details about for hatnote portal commons authority":  showNothing,
	"cn fact citation_needed clarify when who why which dubious r rp sfn sfnp efn refn harv harvnb harvtxt harvid":    showNothing,
	"flagicon flagdeco increase decrease steady toc toclimit anchor coord_missing stub good_article featured_article": showNothing,
	"ipa audio listen pron multiple_image redirect redirect2 other_uses distinguish see_also engvarb expand_list":     showNothing,
})

// shows gives each name in a key its own entry. Names that contain spaces are written with underscores.
func shows(by map[string]wikiShow) map[string]wikiShow {
	all := map[string]wikiShow{}
	for names, show := range by {
		for name := range strings.FieldsSeq(names) {
			all[strings.ReplaceAll(name, "_", " ")] = show
		}
	}
	all["coord"] = wikiPlace
	all["convert"], all["cvt"], all["val"] = wikiMeasure, wikiMeasure, wikiMeasure
	all["nihongo"] = func(c wikiCall) string { return wikiAside(c.arg(0), c.args[min(1, len(c.args)):]) }
	all["as of"] = func(c wikiCall) string { return "as of " + wikiDate(c.numbers(3)) }
	all["death date and age"] = showDate
	return all
}

// wikiFamilies are templates whose names have the same beginning.
var wikiFamilies = []struct {
	name *lazyregexp.Regexp
	show wikiShow
}{
	{lazyregexp.New(`^lang-|^langx?$`), showLast},
	{lazyregexp.New(`^(?:birth|start|end|death|film|release|publication) ?(?:date|-date|year)`), showDate},
	{lazyregexp.New(`^(?:ipa|respell|audio|cite|citation|literatur|internetquelle|use |infobox |navbox|commons|wiki|defaultsort|short description|sister|portal|authority)`), showNothing},
	{lazyregexp.New(`(?:stub|sidebar|footer|navigationsleiste)$`), showNothing},
	{lazyregexp.New(`(?:plain|unbulleted|bulleted|collapsible) ?list$`), showList},
	{lazyregexp.New(`quote`), showFirst},
}

// wikiList joins the items of a list, which are arguments or lines of markup.
func wikiList(args []string) string {
	var items []string
	for _, arg := range args {
		for line := range strings.Lines(arg) {
			if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "*#")); line != "" {
				items = append(items, line)
			}
		}
	}
	return strings.Join(items, ", ")
}

// wikiDate joins year, month and day.
func wikiDate(numbers []string) string {
	for i, n := range numbers {
		if i > 0 && len(n) == 1 {
			numbers[i] = "0" + n
		}
	}
	return strings.Join(numbers, "-")
}

// wikiPlace shows coordinates without the settings after them.
func wikiPlace(c wikiCall) string {
	var parts []string
	for _, a := range c.args {
		if !strings.Contains(a, ":") {
			parts = append(parts, a)
		}
	}
	return strings.Join(parts, " ")
}

// wikiMeasure shows a number with its unit, or a range of them, without the conversion.
func wikiMeasure(c wikiCall) string {
	parts := c.args
	if len(parts) > 3 && !wikiNumber.MatchString(parts[1]) && wikiNumber.MatchString(parts[2]) {
		return strings.Join(parts[:4], " ")
	}
	text := strings.Join(parts[:min(2, len(parts))], " ")
	for _, n := range c.named {
		if n[0] == "u" || n[0] == "ul" {
			text += " " + n[1]
		}
	}
	return text
}

var wikiNumber = lazyregexp.New(`^[-−]?[\d.,/]+$`)

// wikiAside shows a word with others in parentheses.
func wikiAside(word string, others []string) string {
	var kept []string
	for _, o := range others {
		if o != "" {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return word
	}
	return word + " (" + strings.Join(kept, ", ") + ")"
}
