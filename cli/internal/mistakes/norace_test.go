//go:build !race

package mistakes

// share is the part of the mutants and spellings that is tried, one in so many.
const share = 1
