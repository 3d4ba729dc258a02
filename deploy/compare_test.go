package deploy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/deploy"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

func TestLacking(t *testing.T) {
	const head = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: {apiVersion: v1, kind: ConfigMap}\n"
	needs := func(rule string) *deploy.Permissions {
		needed, complaints := deploy.Needs(program(t, source.File{Name: "rules.yaml", Data: []byte(head + rule)}), schema.Builtin(), deploy.Usual)
		if len(complaints) > 0 {
			t.Fatal(complaints)
		}
		return needed
	}
	const child = "  children:\n  - id: c\n    template: {apiVersion: v1, kind: Secret, metadata: {name: c}}\n"
	reads := needs("  lookups: [{id: l, apiVersion: v1, kind: Secret, name: x}]\n")
	writes, deputy := needs(child), needs("  serviceAccountName: deputy\n"+child)
	for _, test := range []struct {
		name string
		got  []string
		want []string
	}{
		{"the same", writes.Lacking(writes), nil},
		{"verbs more", writes.Lacking(reads), []string{"get configmaps", "get,create,patch,delete secrets"}},
		{"verbs fewer", reads.Lacking(writes), nil},
		{"an account", deputy.Lacking(writes), []string{"create,patch,delete secrets as ServiceAccount deputy", "impersonate serviceaccounts deputy"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
