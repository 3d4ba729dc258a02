package deploy_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPoliciesOfExamples covers a kind with the scale subresource, a built-in kind with a
// selector, children in computed namespaces, and children of children.
func TestPoliciesOfExamples(t *testing.T) {
	all := examples(t)
	for _, name := range []string{"sample", "namespace-decorator", "config-propagation", "chain"} {
		t.Run(name, func(t *testing.T) {
			compare(t, "admission/"+name+".yaml", printed(t, options.Policies(program(t, all[name]...), kinds(t))))
		})
	}
}

// TestDemands expects the demanded permissions for each feature of rules.
func TestDemands(t *testing.T) {
	const (
		pod  = "- name: a\n  for: {apiVersion: v1, kind: Pod}\n"
		node = "- name: a\n  for: {apiVersion: v1, kind: Node}\n"
		at   = "@request.namespace"
	)
	part := func(metadata, more string) string {
		return "  children:\n  - {id: part, " + more + "template: {apiVersion: v1, kind: ConfigMap, metadata: " + metadata + "}}\n"
	}
	own := part(`{name: "${self.metadata.name}-child"}`, "")
	kept := func(where string) []string {
		return []string{"create configmaps" + where, "patch configmaps" + where + " later", "delete configmaps" + where + " later"}
	}
	for _, c := range []struct {
		name, rules string
		want        []string
	}{
		{"a rule that does nothing demands nothing", pod, nil},
		{"a patch is the author's own", pod + "  patch: {metadata: {labels: {a: b}}}\n", nil},
		{"children are made at first, later changed and deleted", pod + own, kept(at)},
		{"one that is adopted is changed at once", pod + part(`{name: "${self.metadata.name}-child"}`, "ifExists: adopt, "),
			[]string{"create configmaps" + at, "patch configmaps" + at, "delete configmaps" + at + " later"}},
		{"one that is shared may exist already", pod + part("{name: x}", "ifExists: share, "),
			[]string{"create configmaps" + at, "patch configmaps" + at, "delete configmaps" + at + " later"}},
		{"a computed namespace is the primary's where no other is allowed", pod + part(`{name: x, namespace: "${self.spec.nodeName}"}`, ""), kept(at)},
		{"and else any", pod + part(`{name: x, namespace: "${self.spec.nodeName}"}`, "") + "  allow: {namespaces: [\"a-*\"]}\n", kept("@*")},
		{"a literal one is that one", pod + part(`{name: x, namespace: there}`, "") + "  allow: {namespaces: [there]}\n", kept("@'there'")},
		{"what has no namespace is asked for without", node + "  allow: {clusterScoped: [{group: \"\", kind: Namespace}]}\n" +
			"  children:\n  - {id: part, template: {apiVersion: v1, kind: Namespace, metadata: {name: \"${self.metadata.name}\"}}}\n",
			[]string{"create namespaces@*", "patch namespaces@* later", "delete namespaces@* later"}},
		{"a Namespace is its own", strings.Replace(pod, "Pod", "Namespace", 1) + own, kept("@object.metadata.name")},
		{"finalize is for the author too", strings.Replace(pod+own, "children:\n  - {", "finalize:\n  - {timeout: 1m, ", 1), kept(at)},
		{"what is looked up by name is read", pod + "  lookups:\n  - {id: l, apiVersion: v1, kind: Secret, name: \"${self.spec.nodeName}\"}\n" +
			"  - {id: m, apiVersion: v1, kind: Secret, name: its}\n",
			[]string{"get secrets" + at, "get secrets/its" + at}},
		{"lists are listed", pod + "  lookups:\n  - {id: l, apiVersion: v1, kind: Secret, selector: {}}\n" +
			"  - {id: m, apiVersion: v1, kind: Secret, selector: {}, namespace: \"\"}\n" +
			"  - {id: n, apiVersion: v1, kind: Secret, selector: {}, namespace: there}\n" +
			"  - {id: o, apiVersion: v1, kind: Node, selector: {}}\n  allow: {read: {namespaces: [\"*\"]}}\n",
			[]string{"list secrets" + at, "list secrets@*", "list secrets@'there'", "list nodes@*"}},
		{"what others make of a child is the author's too", pod + own + "- name: b\n  for: {apiVersion: v1, kind: ConfigMap}\n" +
			"  children:\n  - {id: more, template: {apiVersion: v1, kind: Secret, metadata: {name: x}}}\n" +
			"- name: c\n  for: {apiVersion: v1, kind: Secret}\n  lookups:\n  - {id: l, apiVersion: v1, kind: ConfigMap, name: x}\n",
			append(kept(at), "create secrets"+at, "patch secrets"+at+" later", "delete secrets"+at+" later", "get configmaps/x"+at)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, u := range policies(t, c.rules) {
				if u.GetName() == "reconcel.a" {
					got = append(got, demandsOf(u)...)
				}
			}
			if diff := cmpdiff.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func policies(t *testing.T, rules string) []*unstructured.Unstructured {
	t.Helper()
	all := options.Policies(program(t, written(rules)), kinds(t))
	if len(all) == 0 {
		return nil
	}
	return slices.DeleteFunc(parse(t, printed(t, all)), func(u *unstructured.Unstructured) bool {
		return u.GetKind() != "ValidatingAdmissionPolicy"
	})
}

var asked = regexp.MustCompile(`^(request.operation == 'CREATE' \|\| )?authorizer.group\('(.*?)'\).resource\('(.*?)'\)(?:.namespace\((.*?)\))?(?:.name\('(.*?)'\))?.check\('(.*?)'\).allowed\(\)$`)

// demandsOf lists the demands of a policy: verb resource.group/name@namespace.
func demandsOf(policy *unstructured.Unstructured) (all []string) {
	validations, _, _ := unstructured.NestedSlice(policy.Object, "spec", "validations")
	for _, v := range validations {
		m := asked.FindStringSubmatch(v.(map[string]any)["expression"].(string))
		if m == nil {
			return append(all, fmt.Sprint(v))
		}
		text := m[6] + " " + strings.TrimSuffix(m[3]+"."+m[2], ".") + strings.TrimSuffix("/"+m[5], "/") + "@" + cmp.Or(m[4], "*")
		if m[1] != "" {
			text += " later"
		}
		all = append(all, text)
	}
	return all
}

// looksAt lists what a policy matches: resources, and match conditions by name.
func looksAt(policy *unstructured.Unstructured) (all []string) {
	resources, _, _ := unstructured.NestedSlice(policy.Object, "spec", "matchConstraints", "resourceRules")
	for _, r := range resources {
		list, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "resources")
		all = append(all, list...)
	}
	if _, selected, _ := unstructured.NestedMap(policy.Object, "spec", "matchConstraints", "objectSelector"); selected {
		all = append(all, "selector")
	}
	conditions, _, _ := unstructured.NestedSlice(policy.Object, "spec", "matchConditions")
	for _, c := range conditions {
		all = append(all, c.(map[string]any)["name"].(string))
	}
	return all
}

func TestWhatPoliciesLookAt(t *testing.T) {
	const child = "  children:" + configMapChild
	selector := "- name: a\n  for: {apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {a: b}}}\n" + child
	finalize := "- name: a\n  for: {apiVersion: v1, kind: Pod, namespaces: [a, \"b-*\"]}\n" +
		strings.NewReplacer("children", "finalize", "id: part", "id: part\n    timeout: 1m").Replace(child)
	got := map[string][]string{}
	for _, u := range append(policies(t, selector), policies(t, strings.ReplaceAll(finalize, "name: a\n", "name: b\n"))...) {
		got[u.GetName()] = looksAt(u)
	}
	want := map[string][]string{
		"reconcel.a":       {"deployments", "selector", "not-by-reconcel", "changes-something", "is-not-being-deleted"},
		"reconcel.a.scale": {"deployments/scale", "not-by-reconcel", "changes-something", "is-not-being-deleted"},
		// During deletion, the primary still controls what finalize creates.
		"reconcel.b": {"pods", "not-by-reconcel", "in-namespaces", "changes-something"},
	}
	if diff := cmpdiff.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if out := fmt.Sprint(policies(t, finalize)[0].Object); !strings.Contains(out, `request.namespace.matches('^(a|b-.*)$')`) {
		t.Errorf("no condition for the namespaces in %s", out)
	}
}

// TestPoliciesOfSomeNamespaces expects no demands in namespaces that are not watched.
func TestPoliciesOfSomeNamespaces(t *testing.T) {
	some := options
	some.Namespaced = []string{"team-a", "team-b"}
	out := string(printed(t, some.Policies(program(t, written("- name: a\n  for: {apiVersion: v1, kind: Pod}\n  children:"+configMapChild)), kinds(t))))
	if !strings.Contains(out, "request.namespace in ['team-a', 'team-b']") {
		t.Errorf("no condition for the namespaces in %s", out)
	}
}

// TestManyDemandsMakeManyPolicies demands more permissions than one policy can check.
func TestManyDemandsMakeManyPolicies(t *testing.T) {
	text := "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  lookups:\n"
	for i := range 30 {
		text += fmt.Sprintf("  - {id: l%d, apiVersion: v1, kind: ConfigMap, name: l%d}\n", i, i)
	}
	var got []string
	for _, u := range policies(t, text) {
		got = append(got, fmt.Sprintf("%s %d", u.GetName(), len(demandsOf(u))))
	}
	if diff := cmpdiff.Diff([]string{"reconcel.a 24", "reconcel.a.2 6"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPoliciesOfSeveralKinds gives each kind of a rule policies of its own.
func TestPoliciesOfSeveralKinds(t *testing.T) {
	var names []string
	for _, u := range policies(t, "- name: a\n  for: [{apiVersion: apps/v1, kind: DaemonSet}, {apiVersion: v1, kind: Pod}]\n  children:"+configMapChild) {
		names = append(names, u.GetName())
	}
	if diff := cmpdiff.Diff([]string{"reconcel.a.daemonsets.apps", "reconcel.a.pods.core"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
