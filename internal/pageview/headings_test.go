package pageview

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/extract"
)

func TestHeadingsOf_ReadsBothKindsOutsideOfCode(t *testing.T) {
	const text = "# Guide #\n\nIntro.\n\n## *Install* it\n```sh\n# a comment\n```\nOn Linux\n--------\nText\n\n---\n#no heading\n####### seven\n~~~\n```\n# code\n~~~\nLast\n===\n"
	got, err := headingsOf(strings.NewReader(text))
	if want := "[{1 Guide} {2 *Install* it} {2 On Linux} {1 Last}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}

func TestHeadingsByPage_KeepsLevelsAndOrder(t *testing.T) {
	const text = "One\n\nWords.\n\nTwo"
	block := func(kind extract.Kind, level, start, end int) extract.Block {
		return extract.Block{Kind: kind, Level: level, Start: start, End: end}
	}
	blocks := []extract.Block{block(extract.Heading, 1, 0, 3), block(extract.Paragraph, 0, 5, 11), block(extract.Heading, 0, 13, 16)}
	got := headingsByPage([]extract.Page{{Number: 1, Text: text, Blocks: blocks}, {Number: 2, Text: text}, {Number: 3, Text: text, Blocks: blocks[2:]}})
	if want := "map[1:[{1 One} {1 Two}] 3:[{1 Two}]]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
