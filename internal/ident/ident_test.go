package ident

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNew_ReturnsEachIdentifierOnceAndInOrder(t *testing.T) {
	const workers, each = 4, 5000
	made := make([][]string, workers)
	var all sync.WaitGroup
	for w := range made {
		all.Go(func() {
			for range each {
				made[w] = append(made[w], New())
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, ids := range made {
		if !slices.IsSorted(ids) {
			t.Error("a goroutine made identifiers that are not in order")
		}
		for _, id := range ids {
			// The random parts alone must differ: a time does not make an identifier secret.
			if random := id[timeLength:]; len(id) != length || seen[random] {
				t.Fatalf("%q has another length than %d, or its random part was there before", id, length)
			}
			seen[id[timeLength:]] = true
		}
	}
}

// The test estimates the entropy of each position from the characters seen there. 26 positions of
// 32 characters have 130 bits; at least 122 must be seen.
func TestNew_IsRandomInEveryCharacterBehindTheTime(t *testing.T) {
	at := time.Now()
	seen := make([]map[byte]int, randomLength)
	const draws = 4000
	for range draws {
		id := At(at)
		for i := range seen {
			if seen[i] == nil {
				seen[i] = map[byte]int{}
			}
			seen[i][id[timeLength+i]]++
		}
	}
	for i, counts := range seen {
		if len(counts) != 32 {
			t.Errorf("place %d has %d different characters, want 32", i, len(counts))
		}
		for c, n := range counts {
			if n < draws/32/3 || n > draws/32*3 {
				t.Errorf("place %d is %q in %d of %d draws", i, c, n, draws)
			}
		}
	}
}

func TestTime_IsThatOfAtAndOfULIDs(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 11, 12, 345_678_000, time.UTC)
	got, ok := Time(At(at))
	if want := at.Truncate(time.Millisecond); !ok || !got.Equal(want) {
		t.Errorf("the time of an identifier is %v, %v, want %v", got, ok, want)
	}
	const ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV" // from the ULID specification
	if got, ok := Time(ulid); !ok || got.UnixMilli() != 1469922850259 {
		t.Errorf("the time of %s is %d, %v", ulid, got.UnixMilli(), ok)
	}
	for _, s := range []string{"", "nothing", ulid + "A", strings.ToLower(ulid), "ZZARZ3NDEKTSV4RRFFQ69G5FAV",
		strings.Repeat("-", length), "01ARZ3NDEKTSV4RRFFQ69G5FA/"} {
		if Valid(s) {
			t.Errorf("%q counts as an identifier", s)
		}
	}
}

func TestLeast_LiesBetweenWhatIsOlderAndWhatIsNot(t *testing.T) {
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	least := Least(at)
	for range 100 {
		if At(at) < least || At(at.Add(-time.Millisecond)) >= least {
			t.Fatalf("Least(%v) = %s does not part the identifiers", at, least)
		}
	}
	if ulid := least + "0000000000000000"; ulid < least {
		t.Error("a ULID of the same millisecond counts as older")
	}
	if extreme := Least(time.Unix(-1, 0)); extreme != "0000000000" {
		t.Errorf("before 1970: %s", extreme)
	}
}
