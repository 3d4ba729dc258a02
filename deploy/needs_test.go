package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/deploy"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

const head = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

const configMapChild = `
  - id: part
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-child"}}
`

func written(text string) source.File {
	return source.File{Name: "rules.yaml", Data: []byte(head + text)}
}

// TestNeeds expects the permissions for each feature of rules.
func TestNeeds(t *testing.T) {
	const events, cleanup = "events.events.k8s.io: create,patch", "clusterroles.rbac.authorization.k8s.io reconcel-cleanup: get,update"
	for _, c := range []struct {
		name, rules string
		admission   deploy.Admission
		want        []string
	}{
		{name: "a primary alone is only followed",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Secret}\n  lookups:\n  - {id: l, apiVersion: v1, kind: Pod, name: x}\n",
			want:  []string{"pods: list,watch", "secrets: list,watch", events}},
		{name: "a rule for the cluster needs nothing for a primary",
			rules: "- name: a\n  for: cluster\n  lookups:\n  - {id: l, apiVersion: v1, kind: Node, selector: {}}\n",
			want:  []string{"nodes: list,watch", events}},
		{name: "a selector is left, which takes a read",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod, selector: {matchLabels: {a: b}}}\n  patch: {metadata: {labels: {x: z}}}\n",
			want:  []string{"pods: get,list,watch,patch", events}},
		{name: "children are kept, and read before they go",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  children:" + configMapChild,
			want:  []string{"configmaps: get,list,watch,create,patch,delete", "pods: get,list,watch", events}},
		{name: "an order of the end takes a finalizer",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  teardown: ordered\n  children:" + configMapChild,
			want:  []string{"configmaps: get,list,watch,create,patch,delete", "pods: get,list,watch,patch", events}},
		{name: "children elsewhere take a finalizer",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  allow: {namespaces: [\"*\"]}\n  children:" + configMapChild,
			want:  []string{"configmaps: get,list,watch,create,patch,delete", "pods: get,list,watch,patch", events}},
		{name: "but none where a reference may lead to the primary from everywhere",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Node}\n  allow: {namespaces: [\"*\"]}\n  children:" +
				strings.Replace(configMapChild, "metadata: {", "metadata: {namespace: default, ", 1),
			want: []string{"configmaps: get,list,watch,create,patch,delete", "nodes: get,list,watch", events}},
		{name: "owner references take what the plugin demands",
			rules:     "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  children:" + configMapChild,
			admission: deploy.EnforcedOwners,
			want:      []string{"configmaps: get,list,watch,create,patch,delete", "pods: get,list,watch", "pods/finalizers: update", events}},
		{name: "and nothing where there are none",
			rules:     "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  teardown: ordered\n  children:" + configMapChild,
			admission: deploy.EnforcedOwners,
			want:      []string{"configmaps: get,list,watch,create,patch,delete", "pods: get,list,watch,patch", events}},
		{name: "what only accounts write is only read, and they may be acted as",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  serviceAccountName: deployer\n  teardown: ordered\n  patch: {metadata: {labels: {x: z}}}\n  children:" + configMapChild,
			want:  []string{"configmaps: get,list,watch", "pods: get,list,watch,patch", "serviceaccounts deployer: impersonate", events}},
		{name: "a patch that an account writes takes a read of reconcel",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  serviceAccountName: deployer\n  patch: {metadata: {labels: {x: z}}}\n",
			want:  []string{"pods: get,list,watch", "serviceaccounts deployer: impersonate", events}},
		{name: "a kind that another rule writes too is written as reconcel",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  serviceAccountName: team-a/deployer\n  children:" + configMapChild +
				"- name: b\n  for: {apiVersion: v1, kind: Pod}\n  children:" + strings.Replace(configMapChild, "-child", "-b", 1),
			want: []string{"configmaps: get,list,watch,create,patch,delete", "pods: get,list,watch", events}},
		{name: "an account that writes nothing needs no permissions",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  serviceAccountName: deployer\n  status: {message: x}\n",
			want:  []string{"pods: get,list,watch", "pods/status: patch", events}},
		{name: "the plugin demands of the account what it demands of us",
			rules:     "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  serviceAccountName: team-a/deployer\n  children:" + configMapChild,
			admission: deploy.EnforcedOwners,
			want:      []string{"configmaps: get,list,watch", "pods: get,list,watch", events}},
		{name: "status is written through the subresource",
			rules: "- name: a\n  for: {apiVersion: v1, kind: Pod}\n  status: {message: x}\n",
			want:  []string{"pods: get,list,watch", "pods/status: patch", events}},
		{name: "or into the object where there is none",
			rules: "- name: a\n  for: {apiVersion: example.com/v1, kind: Plain}\n",
			want:  []string{"plains.example.com: get,list,watch,patch", events}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := schema.New(schema.Sources{CRDs: []map[string]any{parse(t, []byte(plain))[0].Object}})
			if err != nil {
				t.Fatal(err)
			}
			p, complaints := deploy.Needs(program(t, written(c.rules)), set, c.admission)
			if len(complaints) > 0 {
				t.Fatal(complaints)
			}
			want := slices.Sorted(slices.Values(append(c.want, cleanup)))
			if diff := cmp.Diff(want, allowed(t, printed(t, options.Roles(p)[:1]))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// plain is a kind with conditions and without subresources.
const plain = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: plains.example.com},
  spec: {group: example.com, scope: Namespaced, names: {kind: Plain, plural: plains}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {conditions: {type: array, items: {type: object}}}}}}}}]}}`

// allowed lists the permissions of a ClusterRole by resource.
func allowed(t *testing.T, out []byte) (all []string) {
	t.Helper()
	words := func(v any) (list []string) {
		for _, item := range v.([]any) {
			list = append(list, item.(string))
		}
		return list
	}
	for _, r := range parse(t, out)[0].Object["rules"].([]any) {
		entry := r.(map[string]any)
		for _, resource := range words(entry["resources"]) {
			name := strings.TrimSuffix(resource+"."+words(entry["apiGroups"])[0], ".")
			if entry["resourceNames"] != nil {
				name += " " + strings.Join(words(entry["resourceNames"]), ",")
			}
			all = append(all, name+": "+strings.Join(words(entry["verbs"]), ","))
		}
	}
	slices.Sort(all)
	return all
}

func TestKindsThatAreNotKnown(t *testing.T) {
	_, complaints := deploy.Needs(program(t, written(`- name: a
  for: {apiVersion: example.com/v1, kind: Nothing}
  lookups:
  - {id: l, apiVersion: example.com/v1, kind: Nothing, name: x}
  - {id: m, apiVersion: batch/v1beta1, kind: CronJob, name: x}
  children:
  - id: part
    template: {apiVersion: example.com/v2, kind: Child, metadata: {name: "${self.metadata.name}"}}
`)), schema.Builtin(), deploy.Usual)
	var got []string
	for _, c := range source.Collect(nil, complaints) {
		got = append(got, c.Error())
	}
	want := []string{
		`rules.yaml:4:3: rule "a": kind Nothing of example.com/v1 is unknown (give its CustomResourceDefinition with --crd)`,
		`rules.yaml:8:5: rule "a": kind CronJob of batch/v1beta1 is unknown, only version v1 (or give a newer CustomResourceDefinition with --crd)`,
		`rules.yaml:10:5: rule "a": kind Child of example.com/v2 is unknown (give its CustomResourceDefinition with --crd)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
