package llm

import "math"

// share is the share of an endpoint's calls that have failed. Older calls count less and less.
type share struct{ failed, answered float64 }

const (
	shareDecay = 1 - 1./64 // the weight of a call when the next one is counted
	// chance is the accepted probability of opening a breaker although the endpoint is not down.
	chance = 1e-6
	// longestRow consecutive failures always open a breaker. At an endpoint where nine of ten calls
	// fail, a row of that length happens by chance once in 40,000.
	longestRow = 100
)

// row returns how many consecutive failures mean that the endpoint is down: at least least, and so many
// that they hardly ever happen by chance at an endpoint that fails as often as this one.
func (s share) row(least int) int {
	if s.failed == 0 || s.answered == 0 {
		return least
	}
	n := math.Ceil(math.Log(chance) / math.Log(s.failed/(s.failed+s.answered)))
	return max(least, int(min(n, longestRow)))
}

// end counts a number of consecutive failures that an answer has ended. If there were many, most calls
// were made while the endpoint was down and say nothing about its usual share, so they are not counted.
func (s *share) end(failures int) {
	for range min(failures, s.row(maxRowCounted)) {
		s.count(1, 0)
	}
	s.count(0, 1)
}

// maxRowCounted is the number of consecutive failures counted for an endpoint without a record.
const maxRowCounted = 5

func (s *share) count(failed, answered float64) {
	s.failed, s.answered = s.failed*shareDecay+failed, s.answered*shareDecay+answered
}

// rare reports whether failures are so rare or so old that they make no difference.
func (s share) rare() bool { return s.failed < 0.5 }
