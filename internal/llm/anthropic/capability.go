package anthropic

import (
	"strconv"
	"strings"

	"parley/internal/llm"
)

// thinking says how a request controls a model's thinking.
type thinking int

const (
	never    thinking = iota
	budgeted          // the model thinks only with a budget of tokens
	asked             // the model thinks on request, as much as it likes
	unasked           // the model thinks unless the request forbids it
	always
)

// family describes the models since a version.
type family struct {
	major, minor int
	llm.Capabilities
	thinking thinking
}

// families are in ascending order of versions. Since 4.1, temperature and top_p exclude each other. A
// request always has a temperature, so top_p is never sent.
//
//   - images, contexts: https://platform.claude.com/docs/en/about-claude/models/overview
//   - sampling: https://platform.claude.com/docs/en/about-claude/models/migration-guide
//   - effort: https://platform.claude.com/docs/en/build-with-claude/effort, and for older models
//     https://platform.claude.com/docs/en/build-with-claude/extended-thinking
//   - schema: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
//   - thinking: https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking and
//     https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
var families = []family{
	{0, 0, llm.Capabilities{Temperature: true, Stop: true, Context: 100_000}, never},
	{3, 0, llm.Capabilities{Vision: true, Tools: true, Temperature: true, Stop: true, Context: 200_000}, never},
	{3, 7, llm.Capabilities{Vision: true, Tools: true, Effort: true, Temperature: true, Stop: true, Context: 200_000}, budgeted},
	{4, 5, llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Temperature: true, Stop: true, Context: 200_000}, budgeted},
	{4, 6, llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Temperature: true, Stop: true, Context: 200_000}, asked},
	{4, 7, llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Stop: true, Context: 200_000}, asked},
	{5, 0, llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Stop: true, Context: 1_000_000}, unasked},
	{5, 1, llm.Capabilities{Vision: true, Tools: true, Schema: true, Effort: true, Stop: true, Context: 1_000_000}, always},
}

// Capabilities implements llm.Describer.
func (p *Provider) Capabilities(model string) llm.Capabilities { return p.family(model).Capabilities }

func (p *Provider) family(model string) family {
	f := familyOf(p.overrides.Like(model))
	f.Capabilities = p.overrides.Apply(model, f.Capabilities)
	return f
}

// familyOf returns the family of a model. A model without a version in its name counts as new.
func familyOf(model string) family {
	major, minor := modelVersion(model)
	found := families[len(families)-1]
	if major == 0 {
		return found
	}
	for _, f := range families {
		if major > f.major || major == f.major && minor >= f.minor {
			found = f
		}
	}
	return found
}

// modelVersion reads claude-FAMILY-MAJOR[-MINOR] and the older claude-MAJOR[-MINOR]-FAMILY, with or
// without a trailing date. It returns 0, 0 for any other name.
func modelVersion(model string) (major, minor int) {
	var numbers []int
	for _, part := range strings.Split(strings.ReplaceAll(model, ".", "-"), "-") {
		n, err := strconv.Atoi(part)
		if err == nil && len(part) <= 2 { // more digits are a date
			numbers = append(numbers, n)
		} else if len(numbers) > 0 {
			break
		}
	}
	numbers = append(numbers, 0, 0)
	return numbers[0], numbers[1]
}
