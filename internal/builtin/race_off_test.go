//go:build !race

package builtin

// raceDetector says whether the test was built with the race detector.
const raceDetector = false
