package anthropic

import (
	"strconv"
	"strings"
)

// capability is what a model takes of the parameters of a request.
type capability struct {
	sampling bool // temperature or top_p, but never both
	effort   bool // output_config.effort, and with it adaptive thinking
	schema   bool // output_config.format
}

// capabilities are ascending by the version since which they hold, for every family of models.
//
//   - sampling: https://platform.claude.com/docs/en/about-claude/models/migration-guide
//   - effort: https://platform.claude.com/docs/en/build-with-claude/effort
//   - schema: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
var capabilities = []struct {
	major, minor int
	capability
}{
	{0, 0, capability{sampling: true}},
	{4, 5, capability{sampling: true, schema: true}},
	{4, 6, capability{sampling: true, schema: true, effort: true}},
	{4, 7, capability{schema: true, effort: true}},
}

// capable returns what a model takes. One whose name holds no version is taken for a new one.
func capable(model string) capability {
	major, minor := modelVersion(model)
	found := capabilities[len(capabilities)-1].capability
	if major == 0 {
		return found
	}
	for _, c := range capabilities {
		if major > c.major || major == c.major && minor >= c.minor {
			found = c.capability
		}
	}
	return found
}

// modelVersion reads claude-FAMILY-MAJOR[-MINOR] and the older claude-MAJOR[-MINOR]-FAMILY, with
// or without a date behind it. It returns 0, 0 for any other name.
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
