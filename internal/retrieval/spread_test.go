package retrieval

import (
	"fmt"
	"strings"
	"testing"
)

func TestSpread_TheFirstTenAndHalfOfMoreAreOfDistinctPages(t *testing.T) {
	var all []candidate
	for i := range 32 { // two of each page
		all = append(all, candidate{key: ChunkKey{Revision: 1, Ordinal: i}, page: 1 + i/2, rank: float64(40 - i)})
	}
	for i := range 4 {
		all = append(all, candidate{key: ChunkKey{Revision: 2, Ordinal: i}, rank: float64(4 - i)})
	}
	for limit, want := range map[int]string{
		1:  "1",
		3:  "1 2 3",
		10: "1 2 3 4 5 6 7 8 9 10",
		12: "1 2 3 4 5 6 7 8 9 10 1 2",
		24: "1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4 5 6 7 8 9 10 11 12",
		36: "1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 13 13 14 14 15 15 16 16 0 0 0 0", // all, as they came
	} {
		var pages []string
		for _, c := range spread(all, limit) {
			pages = append(pages, fmt.Sprint(c.page))
		}
		if got := strings.Join(pages, " "); got != want {
			t.Errorf("%d: pages %s, want %s", limit, got, want)
		}
	}
	if got := spread(all[:12], 10); len(got) != 10 || got[1].page != 1 {
		t.Errorf("of six pages the passages are %v, want them as they came", got)
	}
}
