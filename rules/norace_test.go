//go:build !race

package rules

const slowdown = 1
