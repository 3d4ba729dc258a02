package rules_test

import (
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// TestRulesThatReachTooFar has rules that let a resource decide what only rules may, or
// that write fields reserved for reconcel. Loading rejects them, so that they never
// reconcile a resource.
func TestRulesThatReachTooFar(t *testing.T) {
	template := func(text string) string { return "  children:\n  - id: part\n    template: {" + text + "}\n" }
	metadata := func(text string) string {
		return template(`apiVersion: v1, kind: ConfigMap, metadata: {name: x, ` + text + `}`)
	}
	for _, c := range []struct{ rule, want string }{
		{template(`apiVersion: "${self.spec.v}", kind: ConfigMap, metadata: {name: x}`), "literal"},
		{template(`apiVersion: v1, kind: "${self.spec.v}", metadata: {name: x}`), "literal"},
		{template(`apiVersion: v1, kind: "Config${self.spec.v}", metadata: {name: x}`), "literal"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: "${self.spec.v}"`), "name must be written out"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: "${merge({'name': 'x'}, self.spec.v)}"`), "name must be written out"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: "${merge(self.spec.v, {'name': 'x', 'ownerReferences': []})}"`), "ownerReferences cannot be set"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: "${{'name': '../../secrets/x'}}"`), "cannot be the name"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: "${{'name': 'x', 'namespace': '../kube-system'}}"`), "cannot be the name of a namespace"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: {"${self.spec.v}": x, name: x}`), "key"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: {name: x}, "${self.spec.v}": x`), "key"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: {name: x}, status: "${self.spec.v}"`), "status"},
		{"  children:\n  - id: part\n    template: \"${self.spec.v}\"\n", "map"},
		{metadata(`ownerReferences: "${self.spec.v}"`), "ownerReferences cannot be set"},
		{metadata(`ownerReferences: [{apiVersion: v1, kind: Node, name: x, uid: "${self.spec.v}"}]`), "ownerReferences cannot be set"},
		{metadata(`managedFields: "${self.spec.v}"`), "managedFields cannot be set"},
		{metadata(`uid: "${self.spec.v}"`), "uid cannot be set"},
		{metadata(`resourceVersion: "${self.spec.v}"`), "resourceVersion cannot be set"},
		{metadata(`deletionTimestamp: "${self.spec.v}"`), "deletionTimestamp cannot be set"},
		{metadata(`generateName: "${self.spec.v}"`), "generateName cannot be set"},
		{metadata(`selfLink: "${self.spec.v}"`), "selfLink cannot be set"},
		{metadata(`labels: {reconcel.dev/rule: "${self.spec.v}"}`), "reserved for reconcel"},
		{metadata(`labels: {reconcel.dev/child: other}`), "reserved for reconcel"},
		{metadata(`labels: {x.reconcel.dev/y: other}`), "reserved for reconcel"},
		{metadata(`labels: {"${self.spec.v}": x}`), "key"},
		{metadata(`annotations: {reconcel.dev/owner: "${self.spec.v}"}`), "reserved for reconcel"},
		{metadata(`annotations: {reconcel.dev/applied: "${self.spec.v}"}`), "reserved for reconcel"},
		{metadata(`annotations: {reconcel.dev/orphan: "true"}`), "reserved for reconcel"},
		{metadata(`namespace: ["${self.spec.v}"]`), "text"},
		{metadata(`namespace: ../kube-system`), "cannot be the name of a namespace"},
		{metadata(`namespace: kube%2dsystem`), "cannot be the name of a namespace"},
		{metadata(`namespace: Kube-System`), "cannot be the name of a namespace"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: {name: ../../secrets/x}`), "cannot be the name"},
		{template(`apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}/status"}`), "cannot be part of a name"},
		{template(`apiVersion: ../v1, kind: ConfigMap, metadata: {name: x}`), "not a version"},
		{template(`apiVersion: v1, kind: ConfigMap/status, metadata: {name: x}`), "not a kind"},
		{"  patch: {metadata: {ownerReferences: \"${self.spec.v}\"}}\n", "ownerReferences"},
		{"  patch: {metadata: {finalizers: \"${self.spec.v}\"}}\n", "finalizers"},
		{"  patch: {metadata: {namespace: \"${self.spec.v}\"}}\n", "namespace"},
		{"  patch: {metadata: {name: \"${self.spec.v}\"}}\n", "name"},
		{"  patch: {metadata: \"${self.spec.v}\"}\n", "map"},
		{"  patch: {metadata: {annotations: {reconcel.dev/paused: \"true\"}}}\n", "reserved for reconcel"},
		{"  patch: {kind: \"${self.spec.v}\"}\n", "kind cannot be patched"},
		{"  patch: {status: \"${self.spec.v}\"}\n", "status cannot be patched"},
		{"  patch: \"${self.spec.v}\"\n", "map"},
		{"  allow: {namespaces: [\"${self.spec.v}\"]}\n", "namespace"},
		{"  allow: {namespaces: \"${self.spec.v}\"}\n", "list"},
		{"  allow: {clusterScoped: [{group: \"\", kind: \"${self.spec.v}\"}]}\n", "literal"},
		{"  allow: {read: {namespaces: [\"../*\"]}}\n", "namespace"},
		{"  lookups: [{id: l, apiVersion: v1, kind: \"${self.spec.v}\", name: x}]\n", "literal"},
		{"  lookups: [{id: l, apiVersion: v1, kind: Secret, name: x, namespace: ../kube-system}]\n", "is not the name of a namespace"},
	} {
		src := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: far\n  for: {apiVersion: example.com/v1, kind: Widget}\n" + c.rule
		_, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(src)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot %v, want it refused: %s", c.rule, err, c.want)
		}
	}
}
