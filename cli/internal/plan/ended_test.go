package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/sim/world"
)

const head = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

func oneRule(tb testing.TB, text string) *rules.Loaded {
	tb.Helper()
	return loadTexts(tb, map[string]string{"rules.yaml": head + text})
}

func noRules(tb testing.TB) *rules.Loaded {
	tb.Helper()
	return loadTexts(tb, map[string]string{"none.yaml": "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: []\n"})
}

// accountsRule has a ConfigMap for each ServiceAccount.
const accountsRule = `- name: accounts
  for: {apiVersion: v1, kind: ServiceAccount}
  onRuleRemoval: delete
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-of"}}
`

func account(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: team}}", name)
}

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	accounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
)

// patch changes an object in namespace team, as a user.
func (f *fleet) patch(gvr schema.GroupVersionResource, name, body string) {
	f.Helper()
	client := f.Cluster().Client("user").Resource(gvr).Namespace("team")
	if _, err := client.Patch(f.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		f.Fatal(err)
	}
}

// TestPlanOfARemovedRule removes a rule with onRuleRemoval: delete, whose objects are not all deleted at once.
func TestPlanOfARemovedRule(t *testing.T) {
	check := func(t *testing.T, r *Report, deleted int, note, wrong string) {
		t.Helper()
		want := []*KindCount{{APIVersion: "v1", Kind: "ConfigMap", Deleted: deleted}}
		if deleted == 0 {
			want = []*KindCount{}
		}
		if diff := cmp.Diff(want, r.Kinds); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if got := strings.Join(r.Notes, "\n"); !strings.Contains(got, note) || note == "" && got != "" {
			t.Errorf("notes: %s", got)
		}
		if got := strings.Join(r.Errors, "\n"); !strings.Contains(got, wrong) || wrong == "" && got != "" || len(r.Errors) > 1 {
			t.Errorf("errors: %s", got)
		}
	}
	start := func(t *testing.T) *fleet {
		t.Helper()
		return newFleet(t, oneRule(t, accountsRule).Program, account("a"), account("b"))
	}
	t.Run("all at once", func(t *testing.T) {
		f := start(t)
		check(t, f.plan(f.options(noRules(t))), 2, "", "")
	})
	t.Run("a resource is paused", func(t *testing.T) {
		f := start(t)
		f.patch(accounts, "b", `{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`)
		check(t, f.plan(f.options(noRules(t))), 2, "ServiceAccount/team/b is paused", "")
	})
	t.Run("an object is being deleted", func(t *testing.T) {
		f := start(t)
		f.patch(configMaps, "b-of", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		if err := f.Cluster().Client("user").Resource(configMaps).Namespace("team").Delete(t.Context(), "b-of", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		check(t, f.plan(f.options(noRules(t))), 1, "", "")
	})
	t.Run("the resources cannot be listed", func(t *testing.T) {
		f := start(t)
		o := f.options(noRules(t))
		o.Cluster.Client = unlistable{o.Cluster.Client, accounts}
		r := f.plan(o)
		check(t, r, 2, "", `incomplete: the removed rule "accounts"`)
	})
}

// TestPlanOfUnreadableMarks removes a rule whose resources have its finalizer, and cannot be listed.
func TestPlanOfUnreadableMarks(t *testing.T) {
	f := newFleet(t, oneRule(t, strings.Replace(accountsRule, "onRuleRemoval: delete", "teardown: ordered", 1)).Program, account("a"))
	o := f.options(noRules(t))
	o.Cluster.Client = unlistable{o.Cluster.Client, accounts}
	if r := f.plan(o); len(r.Errors) != 1 || !strings.Contains(r.Errors[0], `incomplete: the removed rule "accounts"`) {
		t.Errorf("errors: %q, notes: %q", r.Errors, r.Notes)
	}
}

// TestPlanCountsClusterScopedResources removes a rule for a cluster-scoped kind, which has objects in
// two namespaces for each resource.
func TestPlanCountsClusterScopedResources(t *testing.T) {
	for _, removal := range []string{"delete", "keep"} {
		t.Run(removal, func(t *testing.T) {
			before := oneRule(t, `- name: tenants
  for: {apiVersion: platform.example.com/v1alpha1, kind: Tenant}
  onRuleRemoval: `+removal+`
  allow: {namespaces: ['*']}
  children:
  - id: config
    forEach: [{name: n, in: "['team-a', 'team-b']"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}", namespace: "${n}"}}
`)
			objects := []string{"{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}", "{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}"}
			for i := range 3 {
				objects = append(objects, fmt.Sprintf("{apiVersion: platform.example.com/v1alpha1, kind: Tenant, metadata: {name: t%d}, spec: {image: web}}", i))
			}
			f := newFleet(t, before.Program, objects...)
			check := func(o Options) {
				t.Helper()
				r := f.plan(o)
				if got := r.Resources.String(); !strings.HasPrefix(got, "3 of 3 change") || len(r.Kinds) != 1 || r.Kinds[0].Deleted+r.Kinds[0].Orphaned != 6 {
					t.Errorf("%s\n%s", got, r.Text())
				}
			}
			check(f.options(noRules(t)))
			client := f.Cluster().Client("user").Resource(configMaps).Namespace("kube-system")
			if err := client.Delete(t.Context(), "reconcel-revisions", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			check(f.options(noRules(t)))
		})
	}
}

// listed has a ConfigMap for each item.
func listed(more string, items ...string) string {
	return `- name: listed
  for: {apiVersion: v1, kind: ServiceAccount}
` + more + `  children:
  - id: item
    forEach: [{name: n, in: "['` + strings.Join(items, "', '") + `']"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${n}"}}
`
}

// TestPlanOfAConflict plans the rules of an installation. Another installation has a rule of the same name for the
// same kind, or had it before its objects were taken over.
func TestPlanOfAConflict(t *testing.T) {
	before, after := oneRule(t, listed("", "a", "b")), oneRule(t, listed("", "a"))
	start := func(t *testing.T, data string) (*fleet, Options) {
		t.Helper()
		f := newFleet(t, before.Program, account("x"))
		f.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: b-inventory, namespace: beta, labels: {app.kubernetes.io/managed-by: reconcel}}, data: {" + data + "}}")
		o := f.options(after)
		o.Installation = "beta/b"
		return f, o
	}
	t.Run("a conflict", func(t *testing.T) {
		f, o := start(t, "")
		r := f.plan(o)
		if len(r.Kinds) > 0 || len(r.Pending) != 1 || r.Pending[0].Action != outcome.Rejected || !r.HasTrouble() ||
			!strings.Contains(string(r.Text()), `2 objects belong to the installation "kube-system/reconcel"`) {
			t.Errorf("the plan is\n%s", r.Text())
		}
	})
	t.Run("taken over", func(t *testing.T) {
		f, o := start(t, `listed: '{"for":"ServiceAccount","digest":"x","children":["v1/ConfigMap"],"takenOver":["kube-system/reconcel"]}'`)
		o.Against = before
		if r := f.plan(o); len(r.Kinds) != 1 || r.Kinds[0].Deleted != 1 || len(r.Pending) > 0 {
			t.Errorf("the plan is\n%s", r.Text())
		}
	})
}

// TestPlanDuringARollout plans rules whose rollout is in progress: a user has approved what they delete.
func TestPlanDuringARollout(t *testing.T) {
	items := make([]string, 15)
	for i := range items {
		items[i] = fmt.Sprint("i", i)
	}
	const deployment = `  - id: app
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${self.metadata.name}"}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}}
`
	const waves = "  rollout: {maxUnavailable: 1}\n"
	f := newFleetWith(t, world.Options{Program: oneRule(t, listed(waves, items...)).Program}, account("a"), account("b"))
	after := oneRule(t, listed(waves, items[0])+deployment)
	o := f.options(after)
	foretold := f.plan(o)
	if len(foretold.Held) != 1 {
		t.Fatalf("held: %+v\n%s", foretold.Held, foretold.Text())
	}
	if err := f.Reload(t.Context(), after.Program); err != nil {
		t.Fatal(err)
	}
	inv := inventory.New(f.Cluster().Client("user"), inventory.Options{Namespace: "kube-system", Installation: world.Controller})
	if err := inv.Approve(t.Context(), foretold.Held[0].Hash); err != nil {
		t.Fatal(err)
	}
	if err := f.Reload(t.Context(), after.Program); err != nil {
		t.Fatal(err)
	}
	if recorded, err := inv.Recorded(t.Context()); err != nil || len(recorded.Rollouts) != 1 || len(recorded.Held) > 0 {
		t.Fatalf("no rollout is in progress: %+v, %v", recorded, err)
	}
	if r := f.plan(o); len(r.Held) > 0 {
		t.Errorf("held: %+v", r.Held)
	}
}

// TestPlanHoldsAsRun plans a change with the limit of run for deletions.
func TestPlanHoldsAsRun(t *testing.T) {
	f := newFleet(t, oneRule(t, listed("", "a", "b")).Program, account("x"))
	o := f.options(oneRule(t, listed("", "a")))
	for most, held := range map[int]int{0: 1, 1: 0} {
		limit := intstr.FromInt(most)
		if o.MaxDeletions = &limit; len(f.plan(o).Held) != held {
			t.Errorf("with --max-deletions=%d: %+v", most, f.plan(o).Held)
		}
	}
}
