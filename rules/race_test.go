//go:build race

package rules

const raceDetector = true // It slows everything down, which invalidates timings.
