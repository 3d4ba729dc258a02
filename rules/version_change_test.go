package rules

import (
	"strings"
	"testing"

	"reconcel/rules/source"
)

// TestHashInOtherVersions compares the hash of a rendering in other versions with that of a rule in these
// versions.
func TestHashInOtherVersions(t *testing.T) {
	old := `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: {apiVersion: example.com/v1alpha1, kind: Foo}
  children:
  - id: a
    template:
      apiVersion: example.com/v1beta1
      kind: Bar
      metadata: {name: "${self.metadata.name}", annotations: {note: '"ownerReferences":[{"apiVersion":"example.com/v1"'}}
      spec: {template: {apiVersion: example.com/v1, metadata: {ownerReferences: [{apiVersion: example.com/v1}]}}}
`
	now := strings.NewReplacer("v1alpha1, kind: Foo", "v1, kind: Foo", "apiVersion: example.com/v1beta1", "apiVersion: example.com/v1").Replace(old)
	render := func(src string) *Desired {
		t.Helper()
		p, err := Load([]source.File{{Name: "rules.yaml", Data: []byte(src)}})
		if err != nil {
			t.Fatal(err)
		}
		self := map[string]any{"apiVersion": p.Primaries()[0].Rules[0].GVK.GroupVersion().String(), "kind": "Foo",
			"metadata": map[string]any{"name": "one", "namespace": "default", "uid": "u"}}
		var out Rendering
		p.Primaries()[0].Render(Input{Self: self}, &out)
		d := first(&out.Rules[0].Children[0])
		if d.State != Rendered {
			t.Fatalf("%v", d.Err)
		}
		return d
	}
	before, after := render(old), render(now)
	if before.Hash == after.Hash {
		t.Fatal("the versions are not part of the hash")
	}
	if got := after.HashIn("example.com/v1beta1", "example.com/v1alpha1"); got != before.Hash {
		t.Error("the hash in the old versions is another one")
	}
	if got := after.HashIn("example.com/v1", "example.com/v1"); got != after.Hash {
		t.Error("the hash in the own versions is another one")
	}
}
