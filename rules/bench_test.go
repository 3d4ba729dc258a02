package rules

import (
	"testing"

	"reconcel/rules/kstatus"
)

func BenchmarkCompileFoo(b *testing.B) {
	sources := rulesFile(fooRule)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(sources); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenderFoo measures the language in a reconciliation without changes: when,
// validate, the object with its hash, readiness and status.
func BenchmarkRenderFoo(b *testing.B) {
	p := mustLoad(b, fooRule).Primaries()[0]
	live := Live{Object: fooDeployment()}
	in := Input{Self: foo(), Observed: func(Identity) Live { return live }}
	var out Rendering
	p.Render(in, &out)
	if r := out.Rules[0]; r.Err != nil || r.StatusErr != nil || first(&r.Children[0]).Readiness != kstatus.Ready {
		b.Fatalf("%+v", r)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Render(in, &out)
	}
}
