package rules

import (
	"fmt"
	"strconv"
	"strings"
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

// BenchmarkRenderChildren renders resources with several children, which exist.
func BenchmarkRenderChildren(b *testing.B) {
	for _, n := range []int{1, 5, 20} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  children:\n")
			for i := range n {
				fmt.Fprintf(&text, "  - id: c%d\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}-%d'}, data: {image: '${self.spec.image}', name: '${self.metadata.name}'}}\n", i, i)
			}
			p := mustLoad(b, text.String()).Primaries()[0]
			in := Input{Self: object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u"}, "spec": object{"image": "i"}}, Observed: func(id Identity) Live { return Live{Object: object{"metadata": object{"name": id.Name}}} }}
			var out Rendering
			for b.Loop() {
				p.Render(in, &out)
			}
			if got := complaint(&out); got != "" || len(out.Rules[0].Children) != n {
				b.Fatal(got)
			}
		})
	}
}
