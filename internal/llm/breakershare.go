package llm

import "math"

// share is the share of calls of an endpoint that have failed, of which older calls count ever less.
type share struct{ failed, answered float64 }

const (
	shareDecay = 1 - 1./64 // the weight of a call when the next one is counted
	// chance is how likely a row of failures may be at an endpoint that is not down.
	chance = 1e-6
	// longestRow is what opens a breaker in any case. At an endpoint that fails nine times of ten,
	// such a row comes once in 40,000.
	longestRow = 100
)

// row returns how many failures in a row mean that the endpoint is down: no fewer than least, and so
// many that an endpoint which fails as often as this one did hardly ever has them.
func (s share) row(least int) int {
	if s.failed == 0 || s.answered == 0 {
		return least
	}
	n := math.Ceil(math.Log(chance) / math.Log(s.failed/(s.failed+s.answered)))
	return max(least, int(min(n, longestRow)))
}

// end counts a row of failures that an answer has ended. Of a long one, most calls were made while the
// endpoint was down, and say nothing of how it does when it is not.
func (s *share) end(failures int) {
	for range min(failures, s.row(maxRowCounted)) {
		s.count(1, 0)
	}
	s.count(0, 1)
}

// maxRowCounted is how much of a row is counted of an endpoint of which nothing is known.
const maxRowCounted = 5

func (s *share) count(failed, answered float64) {
	s.failed, s.answered = s.failed*shareDecay+failed, s.answered*shareDecay+answered
}

// rare reports whether failures are so rare or so long ago that they change nothing.
func (s share) rare() bool { return s.failed < 0.5 }
