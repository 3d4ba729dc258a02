package source

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// DidYouMean returns a suggestion for a misspelt word, to append to a message.
func DidYouMean(word string, names []string) string {
	if near := Nearest(word, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// Nearest returns the name that a misspelt word probably means, or "".
func Nearest(word string, names []string) string {
	length := utf8.RuneCountInString(word)
	best, bestDistance := "", min(length, 2+length/3)
	names = slices.Clone(names)
	slices.Sort(names) // Among equally near names the first wins, independent of their order.
	for _, name := range names {
		if d := editDistance([]rune(word), []rune(name)); d > 0 && d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// editDistance counts the letters to replace, remove, insert or swap with the next.
func editDistance(a, b []rune) int {
	rows := [3][]int{}
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}

// Suggest returns "did you mean 'x'?" for the nearest option, or "".
func Suggest(word string, options []string) string {
	if option := Nearest(word, options); option != "" {
		return "did you mean '" + option + "'?"
	}
	return ""
}
