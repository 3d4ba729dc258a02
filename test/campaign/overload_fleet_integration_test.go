//go:build integration

package campaign

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// fleetRules give each Box a ConfigMap with its value.
const fleetRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: fleet
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}", labels: {fleet: "yes"}}
      data: {value: "${string(self.spec.value)}"}
`

var rulesKind = rules.RulesResource.GroupVersion().WithKind("Rules")

// fleetCluster has what a fleet needs: etcd and an API server.
var fleetCluster = devcluster.Options{Without: []string{devcluster.ControllerManager, devcluster.Kwok, devcluster.Scheduler}}

// fleet is many Boxes that have the same value at rest.
type fleet struct {
	*e2e.World
	size  int
	value int
}

// newFleet creates the Boxes, with the value 1.
func newFleet(t *testing.T, cluster *devcluster.Cluster, size int) *fleet {
	t.Helper()
	f := &fleet{World: e2e.In(t, cluster, "default"), size: size, value: 1}
	f.CRD(faultCRD("Box", "boxes", "Namespaced"))
	f.each(f.create)
	return f
}

// object creates a Rules object with the rules of the fleet.
func (f *fleet) object() {
	f.Helper()
	definition, err := deploy.RulesDefinition().YAML()
	if err != nil {
		f.Fatal(err)
	}
	f.CRD(string(definition))
	f.Rediscover()
	f.Create(strings.Replace(fleetRules, "kind: Rules\n", "kind: Rules\nmetadata: {name: fleet}\n", 1))
}

// isActive returns an error unless the Rules object says that its rules are active, and all Boxes ready.
func (f *fleet) isActive() error {
	u, err := f.Resource(rulesKind).Get(f.Context(), "fleet", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if ready, _, _ := unstructured.NestedInt64(u.Object, "status", "ready"); ready != int64(f.size) {
		return fmt.Errorf("the status of the Rules says that %d of %d are ready", ready, f.size)
	}
	return isReady(u)
}

// edit changes all children, as users do.
func (f *fleet) edit() {
	f.Helper()
	f.each(func(ctx context.Context, name string) error {
		_, err := f.Resource(e2e.ConfigMap).Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"value":"edited"}}`), metav1.PatchOptions{FieldManager: "user"})
		return err
	})
}

func (f *fleet) create(ctx context.Context, name string) error {
	_, err := f.Resource(faultKinds["Box"]).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "faults.reconcel.dev/v1", "kind": "Box", "metadata": map[string]any{"name": name}, "spec": map[string]any{"value": int64(f.value)},
	}}, metav1.CreateOptions{FieldManager: e2e.FieldManager})
	return err
}

// each does something with each Box, eight at a time. It repeats what fails until it
// succeeds, because the API server may be away.
func (f *fleet) each(do func(ctx context.Context, name string) error) {
	f.Helper()
	names := make(chan string)
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() {
			for name := range names {
				if err := f.persist(name, do); err != nil {
					f.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	for i := range f.size {
		names <- boxName(i)
	}
	close(names)
	working.Wait()
}

func boxName(i int) string { return fmt.Sprintf("box-%04d", i) }

// persist repeats what fails for two minutes.
func (f *fleet) persist(name string, do func(ctx context.Context, name string) error) error {
	const patience, pause = 2 * time.Minute, 200 * time.Millisecond
	for began := time.Now(); ; e2e.Rest(f.T, pause) {
		ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
		err := do(ctx, name)
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) || time.Since(began) > patience {
			return err
		}
	}
}

// change gives all Boxes the next value.
func (f *fleet) change() {
	f.Helper()
	f.value++
	body := fmt.Appendf(nil, `{"spec":{"value":%d}}`, f.value)
	f.each(func(ctx context.Context, name string) error {
		_, err := f.Resource(faultKinds["Box"]).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: e2e.FieldManager})
		return err
	})
}

// converges waits until all Boxes are ready and their children have the value. It
// returns the UIDs of the children.
func (f *fleet) converges(within time.Duration) map[string]types.UID {
	f.Helper()
	var children map[string]types.UID
	e2e.Poll(f.T, fmt.Sprintf("%d Boxes to be ready with the value %d", f.size, f.value), within, 250*time.Millisecond, func() error {
		all, err := f.children()
		if err != nil {
			return err
		}
		children = all
		boxes, err := f.Resource(faultKinds["Box"]).List(f.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range boxes.Items {
			if err := isReady(&boxes.Items[i]); err != nil {
				return fmt.Errorf("%s: %w", boxes.Items[i].GetName(), err)
			}
		}
		return nil
	})
	return children
}

// children returns the children by name, or an error unless each Box has one with the
// value.
func (f *fleet) children() (map[string]types.UID, error) {
	list, err := f.Resource(e2e.ConfigMap).List(f.Context(), metav1.ListOptions{LabelSelector: "fleet"})
	if err != nil {
		return nil, err
	}
	all := map[string]types.UID{}
	for i := range list.Items {
		o := &list.Items[i]
		if value, _, _ := unstructured.NestedString(o.Object, "data", "value"); value != fmt.Sprint(f.value) {
			return nil, fmt.Errorf("%s has the value %s", o.GetName(), value)
		}
		all[o.GetName()] = o.GetUID()
	}
	if len(all) != f.size {
		return nil, fmt.Errorf("there are %d children", len(all))
	}
	return all, nil
}

// isReady returns an error unless a primary is ready in its current generation.
func isReady(u *unstructured.Unstructured) error {
	if err := e2e.Condition(u, "Ready", "True"); err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if observed := c.(map[string]any)["observedGeneration"]; observed != u.GetGeneration() {
			return fmt.Errorf("observed generation %v of %d", observed, u.GetGeneration())
		}
	}
	return nil
}

// judgeUIDs checks that no child was created again.
func (f *fleet) judgeUIDs(before, after map[string]types.UID) {
	f.Helper()
	for name, uid := range before {
		if after[name] != uid {
			f.Errorf("%s was %s, and is %s", name, uid, after[name])
		}
	}
}
