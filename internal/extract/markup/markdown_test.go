package markup

import "testing"

func TestParseMeta_NamesTheSameOfSeveralMistakesEachTime(t *testing.T) {
	for range 30 {
		_, err := parseMeta("url: [b]\ntitle: [a]\ncategory: {c: d}\n")
		if err == nil || err.Error() != "line 3: title must be one text" {
			t.Fatal(err)
		}
	}
}
