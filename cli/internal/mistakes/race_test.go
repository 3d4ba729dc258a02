//go:build race

package mistakes

// share is the part of the mutants and spellings that is tried, one in so many. The race
// detector makes everything slow; make unit tries all of them without it.
const share = 10
