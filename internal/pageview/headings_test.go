package pageview

import (
	"fmt"
	"strings"
	"testing"
)

func TestHeadingsOf_ReadsBothKindsOutsideOfCode(t *testing.T) {
	const text = "# Guide #\n\nIntro.\n\n## *Install* it\n```sh\n# a comment\n```\nOn Linux\n--------\nText\n\n---\n#no heading\n####### seven\n~~~\n```\n# code\n~~~\nLast\n===\n"
	got, err := headingsOf(strings.NewReader(text))
	if want := "[{1 Guide} {2 *Install* it} {2 On Linux} {1 Last}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}
