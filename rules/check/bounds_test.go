package check

import (
	"fmt"
	"slices"
	"testing"

	"reconcel/rules/source"
)

// TestLargeNumbers compares literals with limits and enums that Go would print with an exponent.
func TestLargeNumbers(t *testing.T) {
	set := load(t, "testdata/crds/*.yaml")
	for fields, want := range map[string]string{
		`bytes: 1000000`:     "",
		`bytes: 16777216`:    "",
		`bytes: 1000001`:     `template.spec.bytes: "1000001" is not one of 1000000, 16777216`,
		`nanos: 30000000`:    "template.spec.nanos: 30000000 must be at most 25000000",
		`nanos: 999999`:      "template.spec.nanos: 999999 must be at least 1000000",
		`nanos: 1000000`:     "",
		`fraction: 0.000001`: "template.spec.fraction: 0.000001 must be greater than 0.00001",
	} {
		f := found(t, set, source.File{Name: "rules.yaml", Data: fmt.Appendf(nil, `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: {apiVersion: example.com/v1, kind: Thing}
  children:
  - {id: a, template: {apiVersion: example.com/v1, kind: Large, metadata: {name: "${self.metadata.name}"}, spec: {%s}}}
`, fields)})
		var got []string
		for _, e := range f.Errors {
			got = append(got, e.Message)
		}
		if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, `children[0] "a": `+want) {
			t.Errorf("%s\n got %q\nwant %s", fields, got, want)
		}
	}
}
