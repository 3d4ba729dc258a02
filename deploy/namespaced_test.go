package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/deploy"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

func inTeams(namespace string) deploy.Options {
	o := options
	o.Namespace, o.Namespaced = namespace, []string{"team-a", "team-b"}
	return o
}

func TestManifestsForSomeNamespaces(t *testing.T) {
	rules := exampleRules(t, "../examples/foo/rules.yaml")
	files, err := deploy.Files([]source.File{rules})
	if err != nil {
		t.Fatal(err)
	}
	permissions := needs(t, deploy.Usual, rules)
	compare(t, "manifests/namespaced.yaml", printed(t, inTeams("team-b").Manifests(permissions, files)))
	compare(t, "rbac/namespaced.yaml", printed(t, inTeams("reconcel-system").Roles(permissions)))
}

// TestNothingIsForTheWholeCluster expects no cluster-scoped objects and no duplicate
// names.
func TestNothingIsForTheWholeCluster(t *testing.T) {
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for name, sources := range examples(t) {
		for _, home := range []string{"team-a", "reconcel-system"} {
			permissions, seen := needs(t, deploy.Usual, sources...), map[string]bool{}
			for _, u := range parse(t, printed(t, inTeams(home).Manifests(permissions, nil))) {
				if !kinds.Kind(u.GroupVersionKind()).Namespaced {
					t.Errorf("%s: %s %s is for the whole cluster", name, u.GetKind(), u.GetName())
				}
				id := u.GetKind() + "/" + u.GetNamespace() + "/" + u.GetName()
				if seen[id] {
					t.Errorf("%s: there are two %s", name, id)
				}
				seen[id] = true
			}
		}
	}
}

// TestRolesAllowTheSame compares the Role of each namespace with the ClusterRole.
func TestRolesAllowTheSame(t *testing.T) {
	for name, sources := range examples(t) {
		permissions := needs(t, deploy.Usual, sources...)
		want := parse(t, printed(t, options.Roles(permissions)))[0].Object["rules"]
		roles := parse(t, printed(t, inTeams("reconcel-system").Roles(permissions)))
		renamed := want.([]any)[slices.IndexFunc(want.([]any), isForClusterRoles)].(map[string]any)
		renamed["resources"] = []any{"roles"} // The cleanup role of each namespace is a Role.
		for _, i := range []int{0, 2} {
			if diff := cmp.Diff(want, roles[i].Object["rules"]); diff != "" {
				t.Errorf("%s, namespace %s: -cluster +namespace:\n%s", name, roles[i].GetNamespace(), diff)
			}
		}
	}
}

// TestEventsOfTheInventory grants Events once, in the namespace of the inventory.
func TestEventsOfTheInventory(t *testing.T) {
	permissions := needs(t, deploy.Usual, exampleRules(t, "../examples/foo/rules.yaml"))
	for _, home := range []string{"team-b", "reconcel-system"} {
		n := 0
		for _, u := range parse(t, printed(t, inTeams(home).Roles(permissions))) {
			rules, _ := u.Object["rules"].([]any) // A cleanup role has none.
			if u.GetKind() == "Role" && u.GetNamespace() == home && slices.ContainsFunc(rules, isForEvents) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %d roles allow Events", home, n)
		}
	}
}

func isForClusterRoles(entry any) bool {
	return slices.Equal(entry.(map[string]any)["resources"].([]any), []any{"clusterroles"})
}

func isForEvents(entry any) bool {
	return slices.Contains(entry.(map[string]any)["resources"].([]any), any("events"))
}

func TestNamespacesThatCannotBe(t *testing.T) {
	o := options
	o.Namespaced = []string{"team-a", "team-*"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), `namespace "team-*"`) {
		t.Errorf("got %v", err)
	}
}
