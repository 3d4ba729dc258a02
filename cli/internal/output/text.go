package output

import (
	"fmt"
	"strings"
	"unicode"
)

// Plural returns a number of things, such as "1 rule" or "2 rules".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Printable replaces control characters, which could move the cursor of a terminal:
// messages quote text that any user may have written.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
