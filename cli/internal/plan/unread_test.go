package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// lacking are the kinds of a cluster in which the API of one kind does not answer.
type lacking struct {
	discover.Kinds
	gvk schema.GroupVersionKind
}

// Find implements discover.Kinds.
func (l lacking) Find(ctx context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	if gvk == l.gvk {
		return discover.Kind{}, discover.UnavailableError{GV: gvk.GroupVersion(), Err: errors.New("no answer")}
	}
	return l.Kinds.Find(ctx, gvk)
}

// unlistable is a cluster that cannot list the objects of one kind.
type unlistable struct {
	dynamic.Interface
	gvr schema.GroupVersionResource
}

// Resource implements dynamic.Interface.
func (u unlistable) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	if gvr == u.gvr {
		gvr.Resource = "nosuch"
	}
	return u.Interface.Resource(gvr)
}

// TestUnreadKind plans new rules in a cluster in which a kind is not served now, or cannot be
// listed. The plan has everything else, and names the kind and its rules.
func TestUnreadKind(t *testing.T) {
	const rulesOf = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: accounts
  for: {apiVersion: v1, kind: ServiceAccount}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-of"}}
- name: secrets
  for: {apiVersion: v1, kind: Secret}
  children:
  - id: job
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: "${self.metadata.name}"}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
- name: jobs
  for: {apiVersion: batch/v1, kind: Job}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-of"}}
`
	loaded := loadTexts(t, map[string]string{"rules.yaml": rulesOf})
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	for name, lack := range map[string]func(*Options){
		"not served": func(o *Options) { o.Cluster.Kinds = lacking{o.Cluster.Kinds, jobs} },
		"not listed": func(o *Options) {
			o.Cluster.Client = unlistable{o.Cluster.Client, jobs.GroupVersion().WithResource("jobs")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, loadTexts(t, map[string]string{"none.yaml": "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: []\n"}).Program,
				"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: default}}", "{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: default}}")
			o := f.options(loaded)
			o.Local = true
			lack(&o)
			r := f.plan(o)
			if diff := cmp.Diff([]*KindCount{{APIVersion: "v1", Kind: "ConfigMap", Created: 1}}, r.Kinds); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if len(r.Errors) != 1 || !strings.HasSuffix(r.Errors[0], `; incomplete: kind Job of rules "jobs", "secrets"`) {
				t.Errorf("errors: %q", r.Errors)
			}
			if len(r.Pending) != 1 || r.Pending[0].Rule != "secrets" {
				t.Errorf("what waits: %v", r.Pending)
			}
		})
	}
}

// dropping are the kinds of a cluster that has stopped to serve one version of a kind.
type dropping struct {
	discover.Kinds
	gvk schema.GroupVersionKind
}

// Find implements discover.Kinds.
func (d dropping) Find(ctx context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	if gvk == d.gvk {
		return discover.Kind{}, discover.NoKindError{GVK: gvk}
	}
	return d.Kinds.Find(ctx, gvk)
}

// TestDroppedVersion plans rules without a child, or without the rule, whose objects were written in a version that the API server
// does not serve any more. The plan foretells their deletion.
func TestDroppedVersion(t *testing.T) {
	const config = "  - id: config\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
	const scaler = "  - id: scaler\n    template: {apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, " +
		"spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}\n"
	rule := func(name, children string) string {
		return "- name: " + name + "\n  onRuleRemoval: delete\n  for: {apiVersion: v1, kind: ServiceAccount}\n  children:\n" + children
	}
	load := func(all string) *rules.Loaded {
		return loadTexts(t, map[string]string{"rules.yaml": "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + all})
	}
	for name, c := range map[string]struct{ before, after string }{
		"a child": {rule("one", config+scaler), rule("one", config)},
		"a rule":  {rule("one", config) + rule("two", scaler), rule("one", config)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, load(c.before).Program, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: default}}")
			o := f.options(load(c.after))
			o.Cluster.Kinds = dropping{o.Cluster.Kinds, schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}}
			r := f.plan(o)
			deleted := 0
			for _, k := range r.Kinds {
				if k.Kind == "HorizontalPodAutoscaler" {
					deleted += k.Deleted
				}
			}
			if deleted != 1 || len(r.Errors) > 0 {
				t.Errorf("%d are deleted, errors %q", deleted, r.Errors)
			}
		})
	}
}
