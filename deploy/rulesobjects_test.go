package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/deploy"
	"reconcel/rules/source"
)

const twoObjects = `# yaml-language-server: $schema=rules.schema.json
apiVersion: reconcel.dev/v1alpha1
kind: Rules
metadata: {labels: {team: shop}, name: first, annotations: {enabled: "on"}}
# About the rules.
rules:
- name: a
  for: {apiVersion: v1, kind: Pod}
  let: {"y": self.metadata.name}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: another}
---
apiVersion: reconcel.dev/v1alpha1
kind: Rules
metadata:
  name: second
  namespace: elsewhere
rules: []
`

func TestManifestsWithRulesObjects(t *testing.T) {
	o := options
	o.RulesObjects = true
	sources := []source.File{{Name: "rules.yaml", Data: []byte(twoObjects)}}
	files, complaints := deploy.Objects(sources)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	all := o.Manifests(needs(t, deploy.Usual, sources...), files)
	definition := slices.IndexFunc(all, func(m deploy.Manifest) bool { return m.Name == "rulesdefinition.yaml" })
	if definition != 0 {
		t.Errorf("the CRD is manifest %d, want the first", definition)
	}
	compare(t, "manifests/objects.yaml", printed(t, all[1:]))

	base, err := o.Base(all, files)
	if err != nil {
		t.Fatal(err)
	}
	kustomization := string(base["kustomization.yaml"])
	for text, want := range map[string]bool{"- rules.yaml\n": true, "- rulesdefinition.yaml\n": true, "configMapGenerator": false} {
		if strings.Contains(kustomization, text) != want {
			t.Errorf("%q in the kustomization: want %t in\n%s", text, want, kustomization)
		}
	}
	if got := len(parse(t, base["rules.yaml"])); got != 2 {
		t.Errorf("rules.yaml of the base has %d objects, want 2", got)
	}
}

// TestRulesObjectsInSomeNamespaces has nothing that is cluster-scoped, so the CRD must be there.
func TestRulesObjectsInSomeNamespaces(t *testing.T) {
	o := options
	o.RulesObjects, o.Namespaced = true, []string{"team"}
	sources := []source.File{{Name: "rules.yaml", Data: []byte(twoObjects)}}
	files, _ := deploy.Objects(sources)
	for _, u := range parse(t, printed(t, o.Manifests(needs(t, deploy.Usual, sources...), files))) {
		if slices.Contains([]string{"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Namespace"}, u.GetKind()) {
			t.Errorf("there is a %s", u.GetKind())
		}
	}
	if got, want := o.Missing(), "CustomResourceDefinition rules.reconcel.dev, which must exist"; !strings.Contains(got, want) {
		t.Errorf("missing: got %q, want %q in it", got, want)
	}
}

// TestRulesObjectsPermissions are those in the role for the engine's own objects, and no others than without objects.
func TestRulesObjectsPermissions(t *testing.T) {
	granted := func(o deploy.Options) map[string]bool {
		found := map[string]bool{}
		for _, u := range parse(t, printed(t, o.Roles(needs(t, deploy.Usual, source.File{Name: "rules.yaml", Data: []byte(twoObjects)})))) {
			list, _, _ := unstructured.NestedSlice(u.Object, "rules")
			for _, r := range list {
				rule := r.(map[string]any)
				for _, resource := range rule["resources"].([]any) {
					for _, verb := range rule["verbs"].([]any) {
						name := ""
						if names, _ := rule["resourceNames"].([]any); len(names) == 1 {
							name = " " + names[0].(string)
						}
						found[u.GetKind()+" "+u.GetNamespace()+": "+verb.(string)+" "+resource.(string)+name] = true
					}
				}
			}
		}
		return found
	}
	o := options
	without := granted(o)
	o.RulesObjects = true
	var more []string
	for permission := range granted(o) {
		if !without[permission] {
			more = append(more, permission)
		}
	}
	slices.Sort(more)
	want := []string{"Role reconcel-system: get namespaces reconcel-system", "Role reconcel-system: list rules",
		"Role reconcel-system: patch rules/status", "Role reconcel-system: watch rules"}
	if !slices.Equal(more, want) {
		t.Errorf("with objects, there are also\n%q, want\n%q", more, want)
	}
}

func TestDocumentsThatCannotBeObjects(t *testing.T) {
	const nameless = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: shop\n  for: {apiVersion: v1, kind: Pod}\n"
	sources := []source.File{{Name: "a.yaml", Data: []byte(twoObjects)}, {Name: "b.yaml", Data: []byte(nameless +
		"---\napiVersion: reconcel.dev/v1alpha1\nkind: Rules\nmetadata: {name: second}\nrules: []\n---\napiVersion: reconcel.dev/v1alpha1\nkind: Rules\nmetadata:\nrules: []\n")}}
	_, complaints := deploy.Objects(sources)
	var got []string
	for _, c := range complaints {
		got = append(got, c.Pos.String()+" "+c.Message+"; "+c.Hint)
	}
	want := []string{
		"b.yaml:1:1 missing metadata.name: the document is to be an object; write metadata: {name: shop}",
		`b.yaml:7:1 metadata.name: "second" is already the name of the object at a.yaml:15:1; `,
		"b.yaml:12:1 missing metadata.name: the document is to be an object; write metadata: {name: rules}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKubectlReadsTheSameRules compares texts that YAML 1.1, which kubectl reads, takes for booleans.
func TestKubectlReadsTheSameRules(t *testing.T) {
	o := options
	o.RulesObjects = true
	sources := []source.File{{Name: "rules.yaml", Data: []byte(twoObjects)}}
	files, _ := deploy.Objects(sources)
	all := o.Manifests(needs(t, deploy.Usual, sources...), files)
	for _, u := range parse(t, printed(t, all)) {
		if u.GetName() != "first" {
			continue
		}
		rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
		let, _ := rules[0].(map[string]any)["let"].(map[string]any)
		if let["y"] != "self.metadata.name" || u.GetAnnotations()["enabled"] != "on" || u.GetNamespace() != "reconcel-system" {
			t.Errorf("got %v", u.Object)
		}
		return
	}
	t.Error("there is no object first")
}

// TestLargeRulesObjects compares each object, not all of them together, with the annotation of a client-side apply.
func TestLargeRulesObjects(t *testing.T) {
	o := options
	o.RulesObjects = true
	file := func(bytes int) deploy.RulesFile {
		return deploy.RulesFile{Key: "a.yaml", Text: []byte(strings.Repeat("x", bytes))}
	}
	if o.NeedServerSide([]deploy.RulesFile{file(200_000), file(200_000)}) {
		t.Error("two objects of 200 kB need a server-side apply")
	}
	if !o.NeedServerSide([]deploy.RulesFile{file(1), file(300_000)}) {
		t.Error("an object of 300 kB needs no server-side apply")
	}
}
