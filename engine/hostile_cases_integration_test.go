//go:build integration

package engine_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/soak"
)

// hostileRule is an ordinary rule that puts spec.v somewhere, or a rule that tries to
// write outside its limits.
type hostileRule struct{ name, does string }

func (r hostileRule) yaml() string {
	return fmt.Sprintf("- name: %s-NAMESPACE\n  for:\n    apiVersion: test.reconcel.dev/v1\n    kind: Widget\n    namespaces: [NAMESPACE, OTHER]\n    when: self.spec.?rule.orValue('') == '%s'\n%s\n", r.name, r.name, r.does)
}

// configMap is a child with this metadata and more fields.
func configMap(metadata, more string) string {
	return "  children:\n  - id: part\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {" + metadata + "}\n      data: {from: tenant}\n" + more
}

const (
	ownName = `name: "${self.metadata.name}"`
	target  = `name: target-NAMESPACE` // one in each foreign namespace
)

// hostileRules have no allow. Rules whose names begin with far- may never write to their
// target, whatever the values are.
var hostileRules = []hostileRule{
	{"good", "  children:\n" + strings.ReplaceAll(configMapChild("good", "${self.metadata.name}-good"), "self.spec.value", "self.spec.v")},
	{"name", configMap(`name: "${self.spec.v}"`, "")},
	{"name-part", configMap(`name: "web-${self.spec.v}"`, "")},
	{"namespace", configMap(target+`, namespace: "${self.spec.v}"`, "")},
	{"namespace-part", configMap(target+`, namespace: "${self.metadata.namespace}${self.spec.v}"`, "")},
	{"namespace-let", "  let: {there: self.spec.v}\n" + configMap(target+`, namespace: "${there}"`, "")},
	{"namespace-orphan", configMap(target+`, namespace: "${self.spec.v}"`, "    onDelete: orphan\n")},
	{"namespace-adopt", configMap(target+`, namespace: "${self.spec.v}"`, "    ifExists: adopt\n")},
	{"namespace-ordered", configMap(target+`, namespace: "${self.spec.v}"`, "  teardown: ordered\n")},
	{"namespace-finalize", strings.Replace(configMap(target+`, namespace: "${self.spec.v}"`, "    timeout: 2s\n"), "children:", "finalize:", 1)},
	{"labels", configMap(ownName+`, labels: "${self.spec.v}"`, "")},
	{"labels-merged", configMap(ownName+`, labels: "${merge({'app': 'web'}, self.spec.v)}"`, "")},
	{"label", configMap(ownName+`, labels: {app: "${self.spec.v}"}`, "")},
	{"annotations", configMap(ownName+`, annotations: "${self.spec.v}"`, "")},
	{"annotation", configMap(ownName+`, annotations: {app: "${self.spec.v}"}`, "")},
	{"finalizers", configMap(ownName+`, finalizers: "${self.spec.v}"`, "")},
	{"data", strings.Replace(configMap(ownName, ""), "{from: tenant}", `"${self.spec.v}"`, 1)},
	{"pod", strings.NewReplacer("ConfigMap", "Pod", "data: {from: tenant}", `spec: "${self.spec.v}"`).Replace(configMap(ownName, "    onChange: replace\n"))},
	{"adopt", configMap(`name: "${self.spec.v}"`, "    ifExists: adopt\n")},
	{"replicas", configMap(`generateName: "${self.metadata.name}-"`, "    replicas: self.spec.v\n    onChange: apply\n")},
	{"generate", configMap(`generateName: "${self.spec.v}"`, "    replicas: 2\n    onChange: apply\n")},
	{"each", configMap(`name: "${self.metadata.name}-${e}"`, "    forEach: [{name: e, in: self.spec.v}]\n")},
	{"each-namespace", configMap(target+`, namespace: "${e}"`, "    forEach: [{name: e, in: self.spec.v}]\n")},
	{"lookup-name", `  lookups: [{id: l, apiVersion: v1, kind: ConfigMap, name: "${self.spec.v}"}]` + "\n  status: {named: \"${l.data}\"}"},
	{"lookup-namespace", `  lookups: [{id: l, apiVersion: v1, kind: ConfigMap, ` + target + `, namespace: "${self.spec.v}"}]` + "\n  status: {far: \"${l.data}\"}"},
	{"lookup-selector", `  lookups: [{id: l, apiVersion: v1, kind: ConfigMap, selector: "${self.spec.v}"}]` + "\n  status: {selected: \"${l.map(x, x.?data)}\"}"},
	{"patch-labels", `  patch: {metadata: {labels: "${self.spec.v}"}}`},
	{"patch-annotations", `  patch: {metadata: {annotations: "${self.spec.v}"}}`},
	{"patch-spec", `  patch: {spec: {copy: "${self.spec.v}"}}`},
	{"status", `  status: {value: "${self.spec.v}"}`},
	{"condition", "  conditions: [{type: Hostile, when: 'true', message: \"${self.spec.v}\"}]"},
	{"far-literal", configMap(target+", namespace: kube-system", "")},
	{"far-neighbour", configMap(target+", namespace: OTHER", "")},
	{"far-namespace", strings.Replace(configMap(`name: "${self.spec.v}"`, ""), "kind: ConfigMap", "kind: Namespace", 1)},
	{"far-global", strings.NewReplacer("v1\n", "test.reconcel.dev/v1\n", "ConfigMap", "Global", "      data:", "      spec:").Replace(configMap(`name: "${self.spec.v}"`, ""))},
	{"far-volume", strings.Replace(configMap(`name: "${self.spec.v}", namespace: "${self.metadata.namespace}"`, ""), "kind: ConfigMap", "kind: PersistentVolume", 1)},
}

// values are what the tenant writes to spec.v.
func (h *hostile) values() []any {
	owner := h.neighbour()
	all := []any{
		nil, true, -1, 501, 1 << 40, 1.5, "", " ", ".", "..", "*", "kube-system", "default", h.other, h.Namespace, "victim",
		"/kube-system", "../kube-system", "../../kube-system/configmaps/" + "target", "kube-system/configmaps/target", "..%2fkube-system", "%2e%2e", "kube%2dsystem", "kube-system?x=y", "kube-system#x",
		"UPPER", "trailing-", "-leading", "a_b", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 300),
		"kube-system\n", "a\nb: c", "x\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: pwned}\n", "x\", namespace: \"kube-system", "${self.metadata.uid}", "{{ .Values }}",
		"ünïcode", "kube‐system", "\u0000", "\u202ekube-system", "true", "null",
		map[string]any{}, map[string]any{"namespace": "kube-system"}, map[string]any{"a": nil}, map[string]any{"a": 1}, map[string]any{"": "x"}, map[string]any{"a/b/c": "d"},
		map[string]any{"$patch": "delete"}, map[string]any{"$retainKeys": []any{"x"}}, map[string]any{"a": "b", "$setElementOrder/finalizers": []any{}},
		map[string]any{"reconcel.dev/rule": "good-" + h.Namespace}, map[string]any{"reconcel.dev/child": "good"}, map[string]any{"reconcel.dev/owner": owner},
		map[string]any{"reconcel.dev/applied": "0"}, map[string]any{"reconcel.dev/orphan": "true"}, map[string]any{"x.reconcel.dev/y": "z"}, map[string]any{"reconcel.dev/paused": "true"},
		map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"}, map[string]any{"kubernetes.io/metadata.name": "kube-system"}, map[string]any{"matchLabels": map[string]any{}},
		map[string]any{"nodeName": "node-0", "hostNetwork": true, "containers": []any{map[string]any{"name": "x", "image": "x"}}},
		[]any{}, []any{nil}, []any{"kube-system", "default", h.other}, []any{h.Namespace, h.Namespace}, []any{map[string]any{"metadata": map[string]any{"namespace": h.other}}}, []any{"reconcel.dev/good-" + h.Namespace}, []any{"example.com/hold"}, []any{[]any{"x"}},
	}
	long := make([]any, 600)
	for i := range long {
		long[i] = fmt.Sprint("e", i)
	}
	return append(all, long)
}

// longValue is longer than a name, metadata or a message may be.
const longValue = 300 << 10

// cases are the hostile Widgets: values under rules, and forged labels and annotations of
// reconcel. Each value meets some rules, and each rule some values. RECONCEL_SOAK=1 tries
// each value under each rule.
func (h *hostile) cases() (all []*unstructured.Unstructured) {
	h.Helper()
	values := h.values()
	for i, r := range hostileRules {
		for j, v := range values {
			if (i+j)%5 != 0 && r.name != "namespace" && !soak.Enabled() {
				continue
			}
			all = append(all, hostileWidget(fmt.Sprintf("%s-%d", r.name, j), r.name, v, nil))
		}
		if i%5 == 0 {
			size := longValue
			if i == 0 {
				size = 1 << 20 // A ConfigMap cannot hold it.
			}
			all = append(all, hostileWidget(r.name+"-long", r.name, strings.Repeat("x", size), nil))
		}
	}
	for i, metadata := range h.forged() {
		all = append(all, hostileWidget(fmt.Sprintf("forged-%d", i), "good", "x", metadata))
	}
	return all
}

func hostileWidget(name, rule string, v any, metadata map[string]any) *unstructured.Unstructured {
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"] = name
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.reconcel.dev/v1", "kind": "Widget", "metadata": metadata, "spec": map[string]any{"rule": rule, "v": v},
	}}
}

// forged returns metadata that makes a Widget look like an object of reconcel.
func (h *hostile) forged() []map[string]any {
	h.Helper()
	rule, owner := "good-"+h.Namespace, h.neighbour()
	uid, _, _ := strings.Cut(owner, "/")
	victim := h.Get(configs, "victim")
	return []map[string]any{
		{"labels": map[string]any{"reconcel.dev/rule": rule, "reconcel.dev/child": "good"}, "annotations": map[string]any{"reconcel.dev/owner": owner}},
		{"labels": map[string]any{"reconcel.dev/rule": rule}, "annotations": map[string]any{"reconcel.dev/owner": string(victim.GetUID()) + "/ConfigMap/" + h.Namespace + "/victim"}},
		{"annotations": map[string]any{"reconcel.dev/owner": "////", "reconcel.dev/applied": "x", "reconcel.dev/orphan": "true"}},
		{"annotations": map[string]any{"reconcel.dev/owner": uid}},
		{"annotations": map[string]any{"reconcel.dev/paused": "maybe"}},
		{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("{", 200_000)}},
		{"finalizers": []any{"reconcel.dev/" + rule}},
		{"finalizers": []any{"reconcel.dev/far-literal-" + h.Namespace}},
		{"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "victim", "uid": string(victim.GetUID()), "controller": true, "blockOwnerDeletion": true}}},
	}
}
