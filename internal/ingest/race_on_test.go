//go:build race

package ingest_test

// raceDetector says whether the test was built with the race detector.
const raceDetector = true
