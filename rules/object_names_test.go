package rules

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestLabelsAreLegalNames compares isLabel with the API server's own check.
func TestLabelsAreLegalNames(t *testing.T) {
	names := []string{"", "-", "a", "a-", "-a", "a.b", "A", "a_b", "0", "é", strings.Repeat("a", 63), strings.Repeat("a", 64)}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		name := make([]byte, random.IntN(6))
		for i := range name {
			name[i] = "az09-.A_ {"[random.IntN(10)]
		}
		names = append(names, string(name))
	}
	for _, name := range names {
		if got, want := isLabel(name), len(validation.IsDNS1123Label(name)) == 0; got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
}
