//go:build race

package testenv

// raceDetector tells whether this build looks for data races.
const raceDetector = true
