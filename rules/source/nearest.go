package source

import (
	"fmt"
	"iter"
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
	near, _ := nearest(word, slices.Values(names))
	return near
}

// nearest returns the nearest name, and how many names it compared. Among equally near
// names the first by alphabet wins, independent of their order.
func nearest(word string, names iter.Seq[string]) (best string, compared int) {
	d := distances{word: []rune(word)}
	length := len(d.word)
	bestDistance := min(length, 2+length/3)
	for name := range names {
		compared++
		if apart := utf8.RuneCountInString(name) - length; max(apart, -apart) > bestDistance {
			continue
		}
		n := d.to(name)
		if n > 0 && (n < bestDistance || n == bestDistance && best != "" && name < best) {
			best, bestDistance = name, n
		}
	}
	return best, compared
}

// maxCompared is the number of names that a Suggester compares.
const maxCompared = 200_000

// A Suggester suggests names for misspelt words until it has compared many. A report
// shows the first errors only, and comparing every word of a large file with every name
// takes minutes.
type Suggester struct{ compared int }

// Suggest is the function Suggest, but returns "" once too many names are compared.
func (s *Suggester) Suggest(word string, names iter.Seq[string]) string {
	if !s.Compare(0) {
		return ""
	}
	near, compared := nearest(word, names)
	s.Compare(compared)
	return didYouMean(near)
}

// Compare counts n more comparisons, and reports whether they are not too many.
func (s *Suggester) Compare(n int) bool {
	s.compared += n
	return s.compared <= maxCompared
}

// distances compares a word with names.
type distances struct {
	word, name []rune
	rows       [3][]int
}

// to counts the letters to replace, remove, insert or swap with the next to get a name.
func (d *distances) to(name string) int {
	d.name = d.name[:0]
	for _, r := range name {
		d.name = append(d.name, r)
	}
	a, b := d.word, d.name
	for i := range d.rows {
		d.rows[i] = slices.Grow(d.rows[i][:0], len(b)+1)[:len(b)+1]
	}
	for j := range d.rows[1] {
		d.rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now := d.rows[(i+2)%3], d.rows[i%3], d.rows[(i+1)%3]
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
	return d.rows[(len(a)+1)%3][len(b)]
}

// Suggest returns "did you mean 'x'?" for the nearest option, or "".
func Suggest(word string, options []string) string { return didYouMean(Nearest(word, options)) }

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean '" + name + "'?"
}
