//go:build !race

package eval

// raceDetector says whether the test was built with the race detector.
const raceDetector = false
