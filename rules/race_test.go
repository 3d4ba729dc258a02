//go:build race

package rules

const raceDetector = true // with it nothing is as fast as it is
