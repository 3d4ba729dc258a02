package check

import (
	"cmp"
	"slices"
	"testing"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// BenchmarkLargest checks the largest example. Only the first round decodes the schemas
// of Kubernetes' own kinds. Run it with -benchtime=1x to measure what a command waits
// for.
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
