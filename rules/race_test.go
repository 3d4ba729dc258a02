//go:build race

package rules

const slowdown = 15 // by the race detector
