package rules

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const bundleRules = `
- name: one
  for: cluster
  allow: {namespaces: [ns]}
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: other}}
- name: two
  for: cluster
`

// TestBundle renders bundles from their ConfigMaps. What they render does not depend on which
// ConfigMap it is.
func TestBundle(t *testing.T) {
	p := mustLoad(t, bundleRules)
	bundle := BundleOwner("system", "reconcel", "one")
	var before string
	for _, uid := range []types.UID{"u1", "u2"} {
		u := NewBundle(bundle, "one")
		u.SetUID(uid)
		r := render(p, u.Object, nil)
		if !r.Rules[0].Matches || r.Rules[1].Matches || r.Rules[0].NeedsFinalizer() {
			t.Fatalf("rule one matches: %v, rule two: %v, it needs a finalizer: %v", r.Rules[0].Matches, r.Rules[1].Matches, r.Rules[0].NeedsFinalizer())
		}
		d := &r.Rules[0].Children[0].Objects[0]
		body := string(d.AppendApply(nil, "", ""))
		if want := string(bundle.UID) + "/Bundle.reconcel.dev/system/reconcel-bundle-one"; !strings.Contains(body, want) || strings.Contains(body, "ownerReferences") {
			t.Errorf("the owner is not %s: %s", want, body)
		}
		if before != "" && body != before {
			t.Errorf("another ConfigMap renders %s, then %s", before, body)
		}
		before = body
		if err := r.Rules[0].Children[1].Objects[0].Err; err == nil || !strings.Contains(err.Message, "allow.namespaces does not include it") {
			t.Errorf("a namespace that is not allowed: %v", err)
		}
	}
}

func TestSiblingOfABundle(t *testing.T) {
	one := BundleOwner("system", "a-bundle-b", "one")
	if got, want := SiblingOf(one, "one", "two"), BundleOwner("system", "a-bundle-b", "two"); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if elsewhere := BundleOwner("other", "a-bundle-b", "one"); elsewhere.UID == one.UID {
		t.Error("bundles of two installations have one UID")
	}
	if got := one.String(); got != "ConfigMap/system/a-bundle-b-bundle-one" {
		t.Errorf("it is shown as %s", got)
	}
}
