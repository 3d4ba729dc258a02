package world_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/deploy"
	"reconcel/sim/world"
)

// value is what the rules of TestPermissionsOfAnyRule render.
const value = `self.metadata.?labels["v"].orValue("")`

// shapes are what such a rule may have.
var shapes = func() map[string]string {
	child := func(more string) string {
		return "  children: [{id: c, " + more + "template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: one, annotations: {v: '${" + value + "}'}}}}]\n"
	}
	return map[string]string{
		"lookup":     "  lookups: [{id: l, apiVersion: v1, kind: Secret, name: x}]\n",
		"patch":      "  patch: {metadata: {labels: {patched: '${" + value + "}'}}}\n",
		"map":        "  patch: {spec: {data: '${" + value + ` == "1" ? {} : {"k": "v"}` + "}'}}\n",
		"status":     "  status: {phase: '${" + value + "}'}\n",
		"annotation": "  report: annotation\n",
		"children":   child(""),
		"adopt":      child("ifExists: adopt, "),
		"share":      child("ifExists: share, "),
		"orphan":     child("onDelete: orphan, "),
		"ordered":    "  teardown: ordered\n" + child(""),
		"finalize":   strings.Replace(child("timeout: 1m, "), "children", "finalize", 1),
	}
}()

// TestPermissionsOfAnyRule lets rules of many shapes work while another client changes, undoes and deletes what they
// write. All permissions that the controller uses are those that rbac prints.
func TestPermissionsOfAnyRule(t *testing.T) {
	for primary, object := range map[string]string{
		"things.example.com": "apiVersion: example.com/v1\nkind: Thing\nspec: {value: x}\n",
		"pods":               "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: i}]}\n",
	} {
		for _, selector := range []string{"", ", selector: {matchLabels: {app: x}}"} {
			for _, account := range []string{"", "  serviceAccountName: deployer\n"} {
				for name, shape := range shapes {
					if name == "map" && primary == "pods" {
						continue // It has no such field.
					}
					t.Run(fmt.Sprint(primary, " ", name, selector, account), func(t *testing.T) {
						u := &unstructured.Unstructured{}
						if err := yaml.Unmarshal([]byte(object+"metadata: {name: one, labels: {app: x, v: \"0\"}}\n"), &u.Object); err != nil {
							t.Fatal(err)
						}
						usesWhatIsPrinted(t, "- name: one\n  for: {apiVersion: "+u.GetAPIVersion()+", kind: "+u.GetKind()+selector+"}\n"+account+shape, primary, u)
					})
				}
			}
		}
	}
}

// usesWhatIsPrinted checks the permissions that the controller uses for a rule with one primary.
func usesWhatIsPrinted(t *testing.T, rule, resource string, primary *unstructured.Unstructured) {
	t.Helper()
	kinds, program := kindsOf(t, emptiable), briefRules(t, rule)
	w, err := world.New(world.Options{Program: program, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	gr := runtimeschema.ParseGroupResource(resource)
	primaries := w.Cluster().Client("other").Resource(gr.WithVersion(primary.GroupVersionKind().Version)).Namespace("default")
	parts := w.Cluster().Client("other").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace("default")
	patch := func(of dynamic.ResourceInterface, section, text string) error {
		_, err := of.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"metadata":{"`+section+`":{`+text+`}}}`), metav1.PatchOptions{})
		return err
	}
	used, overtaken := map[string]bool{}, 0
	w.Wrap(func(c dynamic.Interface) dynamic.Interface {
		return ledger{c, func(e ledgerEntry) {
			target := deploy.Target{Group: e.resource.Group, Resource: e.resource.Resource, Subresource: e.subresource}
			used[e.by+": "+e.verb+" "+target.String()] = true
			if overtaken > 0 && e.resource.GroupResource() == gr && e.verb == "patch" {
				overtaken--
				_ = patch(primaries, "annotations", fmt.Sprintf(`"edit":"%d"`, overtaken))
			}
		}}
	})
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	create := func() error {
		_, err := primaries.Create(t.Context(), primary.DeepCopy(), metav1.CreateOptions{})
		return err
	}
	step(w.Restart(t.Context()))
	step(create())
	overtaken = 2
	step(patch(primaries, "labels", `"v":"1"`))
	if _, err := parts.Get(t.Context(), "one", metav1.GetOptions{}); err == nil {
		step(patch(parts, "annotations", `"v":"drift"`))
		step(parts.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	}
	step(patch(primaries, "annotations", `"reconcel.dev/reconcile-at":"now"`))
	step(patch(primaries, "labels", `"app":"other"`))
	step(patch(primaries, "labels", `"app":"x"`))
	step(primaries.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	step(create())

	needs, complaints := deploy.Needs(program, kinds.Set(), deploy.Usual)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	manifests, err := deploy.Print(deploy.Options{Name: "reconcel", Namespace: "default"}.Roles(needs))
	if err != nil {
		t.Fatal(err)
	}
	granted := grantedBy(t, string(manifests))
	for one := range used {
		if !granted[one] {
			t.Errorf("%q is not printed for this rule, but %q\n%s", one, slices.Sorted(maps.Keys(granted)), rule)
		}
	}
}

// grantedBy returns what roles permit to reconcel and to the account deployer.
func grantedBy(t *testing.T, manifests string) map[string]bool {
	t.Helper()
	granted := map[string]bool{}
	for document := range strings.SplitSeq(manifests, "\n---") {
		var role struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []struct{ APIGroups, Resources, Verbs []string }
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		by := "reconcel"
		if role.Metadata.Name == "reconcel:deployer" {
			by = "default/deployer"
		}
		for _, r := range role.Rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					name, sub, _ := strings.Cut(resource, "/")
					granted[by+": "+verb+" "+deploy.Target{Group: r.APIGroups[0], Resource: name, Subresource: sub}.String()] = true
				}
			}
		}
	}
	return granted
}
