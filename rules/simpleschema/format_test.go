package simpleschema_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"reconcel/rules/simpleschema"
)

func TestWhatIsReadIsWrittenAgain(t *testing.T) {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(`
image: string | required=true description="The \"image\""
replicas: integer | default=1 maximum=9 minimum=0
hosts: '[]string | default=["a","b"] minItems=1 uniqueItems=true'
env: map[string]intOrString
size: string | default="small" enum=["large","small"] immutable=true
ingress:
  enabled: boolean | default=false
  rules: '[]map[string]number'
settings: {level: string, "*": any}
anything: any
object: object | required=true validation="self.x > 0"
`), &fields); err != nil {
		t.Fatal(err)
	}
	s, err := simpleschema.Parse(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, partly := simpleschema.Format(s)
	if len(partly) > 0 {
		t.Errorf("it says only a part of %v", partly)
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Error(diff)
	}
}

func TestFormatNamesWhatItCannotSay(t *testing.T) {
	object := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Description: "What listens",
		Properties: map[string]spec.Schema{"port": *spec.Int32Property()}}}
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
		"listeners": *spec.ArrayProperty(&object), "main": object,
	}}}
	got, partly := simpleschema.Format(s)
	if want := []string{"listeners", "main"}; !slices.Equal(partly, want) {
		t.Errorf("it says only a part of %v, want %v", partly, want)
	}
	want := map[string]any{"listeners": "[]object", "main": map[string]any{"port": "integer | format=int32"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
