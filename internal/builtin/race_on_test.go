//go:build race

package builtin

// raceDetector says whether the test was built with the race detector, which makes reading PDF
// files slow.
const raceDetector = true
