package retrieval

import (
	"fmt"
	"strings"
	"testing"
)

func TestSpread_HalfOfAllAreOfDistinctPages(t *testing.T) {
	var all []candidate
	for i := range 12 { // two of each page
		all = append(all, candidate{key: ChunkKey{Revision: 1, Ordinal: i}, page: 1 + i/2, rank: float64(20 - i)})
	}
	for i := range 4 {
		all = append(all, candidate{key: ChunkKey{Revision: 2, Ordinal: i}, rank: float64(4 - i)})
	}
	for limit, want := range map[int]string{
		1:  "1",
		3:  "1 2 3",
		5:  "1 2 3 4 5",
		8:  "1 2 3 4 5 1 2 3",
		12: "1 2 3 4 5 6 1 2 3 4 5 6",
		16: "1 1 2 2 3 3 4 4 5 5 6 6 0 0 0 0", // all, as they came
	} {
		var pages []string
		for _, c := range spread(all, limit) {
			pages = append(pages, fmt.Sprint(c.page))
		}
		if got := strings.Join(pages, " "); got != want {
			t.Errorf("%d: pages %s, want %s", limit, got, want)
		}
	}
}
