package builtin

import (
	"regexp"
	"slices"
	"strings"

	"parley/internal/lazyregexp"
)

// option matches the options of programs in a question: "-s", "--dry-run".
var option = lazyregexp.New(`(?:^|[\s"'“‘` + "`" + `(\[])(--?[\pL\d][\pL\d-]*)`)

// aboutOptions returns the units that describe an option of the question, or else those that hold one, or else all units. Text
// about another option shares all other words with the answer.
func aboutOptions(question string, units []unit) []unit {
	var asked []string
	for _, m := range option.FindAllStringSubmatch(question, -1) {
		asked = append(asked, regexp.QuoteMeta(m[1]))
	}
	if asked == nil {
		return units
	}
	anyOf := `(?:` + strings.Join(asked, "|") + `)(?:$|[^\pL\d-])`
	for _, looks := range []string{`^(?:-\S+ )*` + anyOf, `(?:^|[^\pL\d-])` + anyOf} {
		holds := regexp.MustCompile(looks).MatchString
		if about := slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return !holds(u.key) && !holds(u.text) }); len(about) > 0 {
			return about
		}
	}
	return units
}
