package syntax

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomScalars decodes scalars that no author would write, in all styles.
func TestRandomScalars(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 1_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(options ...string) string { return options[random.IntN(len(options))] }
	for range rounds {
		var text strings.Builder
		for range random.IntN(20) {
			text.WriteString(pick("a", "é", "日", " ", "  ", "\n", "\n  ", "\n   ", "\n \n", "\r\n  ", "\t", `''`, `\"`, `\n`, `\x41`, "\\\n  ", "#", " #", ":", "x"))
		}
		s := text.String()
		value := pick(
			"  "+s,
			"'"+s+"'",
			`"`+s+`"`,
			"|"+pick("", "-", "+", "1", "2-", "+1")+pick("", " # c")+"\n  "+s,
			">"+pick("", "-", "+", "1", "2-", "+1")+pick("", " # c")+"\n  "+s,
			"&anchor '"+s+"'",
			"&anchor\n  # comment\n  "+s,
			"&a |\n   "+s,
		)
		data := pick("k: ", "- ", "- k: ", "a:\n  b: ", "\ufeffk: ", "k:\n  ") + value + pick("", "\n", "\nz: 1\n", "\n...\n")
		checkScalars(t, Source{Name: "random.yaml", Data: []byte(data)})
		if t.Failed() {
			t.Fatalf("in %q", data)
		}
	}
}
