package check

import (
	"cmp"
	"slices"
	"testing"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// BenchmarkLargest checks the largest example. The schemas of Kubernetes' own
// kinds are decoded by the first round alone, so run it with -benchtime=1x to
// see what a command has to wait for.
func BenchmarkLargest(b *testing.B) {
	src := slices.MaxFunc(examples(b), func(a, b source.File) int { return cmp.Compare(len(a.Data), len(b.Data)) })
	file, err := syntax.Parse([]source.File{src})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if f := Check(file, crds(b), nil); len(f.Errors)+len(f.Warnings) > 0 {
			b.Fatal("something is wrong")
		}
	}
}
