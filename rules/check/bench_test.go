package check

import (
	"cmp"
	"slices"
	"testing"

	"reconcel/rules/syntax"
)

// BenchmarkLargest checks the largest example. The schemas of Kubernetes' own
// kinds are decoded by the first round alone, so run it with -benchtime=1x to
// see what a command has to wait for.
func BenchmarkLargest(b *testing.B) {
	source := slices.MaxFunc(examples(b), func(a, b syntax.Source) int { return cmp.Compare(len(a.Data), len(b.Data)) })
	file, err := syntax.Parse([]syntax.Source{source})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if f := Check(file, crds(b), nil); len(f.Errors)+len(f.Warnings) > 0 {
			b.Fatal("something is wrong")
		}
	}
}
