//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/e2e"
)

// inVersions returns the CRD of a kind in versions v1 and v2, and in v2 alone, as steps of a migration.
func inVersions(kind string) (both, stored, only string) {
	one := kindLike(kind)
	head, version, _ := strings.Cut(one, "  versions:\n")
	second := strings.NewReplacer("name: v1", "name: v2", "storage: true", "storage: false").Replace(version)
	both = one + second
	stored = strings.NewReplacer("storage: true", "storage: false", "storage: false", "storage: true").Replace(both)
	return both, stored, head + "  versions:\n" + strings.Replace(second, "storage: false", "storage: true", 1)
}

// drop removes version v1 of a kind from its CRD, after its objects were stored in v2.
func (w *world) drop(kind string, names ...string) {
	w.Helper()
	_, stored, only := inVersions(kind)
	w.replaceCRD(stored)
	w.Rediscover()
	for _, name := range names {
		// The API server may still serve the old storage version for a moment, so that the write must be repeated.
		w.Eventually(name+" to be stored in v2", func() error {
			_, err := w.Resource(e2e.GVK("test.reconcel.dev/v2", kind)).Patch(w.Context(), name, types.MergePatchType,
				[]byte(fmt.Sprintf(`{"metadata":{"labels":{"stored":"%d"}}}`, time.Now().UnixNano())), metav1.PatchOptions{FieldManager: "migrator"})
			return err
		})
	}
	crd := strings.ToLower(kind) + "s.test.reconcel.dev"
	w.Eventually("v1 to be dropped", func() error {
		crds := w.Client.Resource(crdResource)
		live, err := crds.Get(w.Context(), crd, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedStringSlice(live.Object, []string{"v2"}, "status", "storedVersions"); err != nil {
			return err
		}
		_, err = crds.UpdateStatus(w.Context(), live, metav1.UpdateOptions{})
		return err
	})
	w.replaceCRD(only)
	w.Rediscover()
}

// versionsOf returns the versions that managedFields of an object name, by manager.
func versionsOf(u *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, e := range u.GetManagedFields() {
		all[e.Manager+" "+e.Subresource] += e.APIVersion
	}
	return all
}

const versionedRest = `  - id: kept
    onChange: keep
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-kept"}, data: {value: "${self.spec.value}"}}
  - id: replaced
    onChange: replace
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-replaced"}, data: {value: fixed}}
  - id: piece
    onChange: replace
    readyWhen: "true"
    template: {apiVersion: test.reconcel.dev/v1, kind: Piece, metadata: {name: "${self.metadata.name}"}, spec: {value: fixed}}
  - id: pods
    replicas: "2"
    onChange: replace
    template:
      apiVersion: v1
      kind: Pod
      metadata: {generateName: "${self.metadata.name}-"}
      spec: {containers: [{name: a, image: "nginx:1"}]}
  patch: {metadata: {labels: {value: "${self.spec.value}"}}}
  status: {value: "${a.data.value}"}
`

// TestVersionOfRulesChanges moves the rules of a kind to another version, and then drops the old one.
func TestVersionOfRulesChanges(t *testing.T) {
	w := newWorld(t)
	const kind = "Moving"
	v1, v2 := e2e.GVK("test.reconcel.dev/v1", kind), e2e.GVK("test.reconcel.dev/v2", kind)
	both, _, _ := inVersions(kind)
	w.CRD(both)
	pieces, _, _ := inVersions("Piece")
	w.CRD(pieces)
	src := rulesFor(kind, versionedRest)
	in := w.run(src)
	u := w.Create(strings.Replace(widget("one", "value: x"), "Widget", kind, 1))
	w.Has(v1, "one", map[string]any{"status.value": "x", "metadata.labels.value": "x"})
	w.Patch(v1, "one", `{"spec":{"value":"y"}}`) // The rendering of the kept object differs from now on.
	w.Has(v1, "one", map[string]any{"status.value": "y"})
	w.settles()
	before := w.uids()

	w.reload(in, strings.Replace(src, "test.reconcel.dev/v1", "test.reconcel.dev/v2", 2))
	for _, name := range []string{"one-a", "one-kept", "one-replaced"} {
		w.Eventually("the owner reference of "+name+" to name v2", func() error {
			for _, ref := range w.Get(configs, name).GetOwnerReferences() {
				if ref.UID == u.GetUID() && ref.APIVersion == "test.reconcel.dev/v2" {
					return nil
				}
			}
			return errors.New("it does not")
		})
	}
	w.Eventually("the entries of reconcel to name v2", func() error {
		for manager, version := range versionsOf(w.Get(v2, "one")) {
			if strings.HasPrefix(manager, "reconcel") && version != "test.reconcel.dev/v2" {
				return fmt.Errorf("that of %s names %s", manager, version)
			}
		}
		return nil
	})
	w.settles()
	if after := w.uids(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("objects were replaced:\n%v\n%v", before, after)
	}
	if got, _, _ := unstructured.NestedString(w.Get(configs, "one-kept").Object, "data", "value"); got != "x" {
		t.Errorf("the kept object has %q", got)
	}
	w.Quiet(3 * time.Second)

	w.replaceCRD(both)
	w.removeEntry(v2, "one", "test.reconcel.dev/v1")
	w.drop(kind, "one")
	w.Patch(v2, "one", `{"spec":{"value":"z"}}`)
	w.Has(v2, "one", map[string]any{"status.value": "z", "metadata.labels.value": "z"})
	w.Is(v2, "one", "Ready", "True")
}

// uids returns the UIDs of the children of all primaries, by name.
func (w *world) uids() map[string]types.UID {
	w.Helper()
	all := map[string]types.UID{}
	for _, kind := range []schema.GroupVersionKind{configs, e2e.GVK("v1", "Pod"), e2e.GVK("test.reconcel.dev/v2", "Piece")} {
		list, err := w.Resource(kind).List(w.Context(), metav1.ListOptions{LabelSelector: "reconcel.dev/rule"})
		if err != nil {
			w.Fatal(err)
		}
		for _, o := range list.Items {
			all[o.GetKind()+" "+o.GetName()] = o.GetUID()
		}
	}
	return all
}

// removeEntry removes entries of managedFields that name a version.
func (w *world) removeEntry(kind schema.GroupVersionKind, name, version string) {
	w.Helper()
	w.Eventually("the entries to be removed", func() error {
		u := w.Get(kind, name)
		var rest []metav1.ManagedFieldsEntry
		for _, e := range u.GetManagedFields() {
			if e.APIVersion != version {
				rest = append(rest, e)
			}
		}
		u.SetManagedFields(rest)
		_, err := w.Resource(kind).Update(w.Context(), u, metav1.UpdateOptions{})
		return err
	})
}

// TestVersionDroppedWhileNoProcessRuns drops a version that only entries of reconcel name, and starts with rules for
// the new one. reconcel may patch only the status of a kind whose rules have no patch.
func TestVersionDroppedWhileNoProcessRuns(t *testing.T) {
	for kind, rest := range map[string]string{"Dropping": "  patch: {metadata: {labels: {value: \"${self.spec.value}\"}}}\n", "Statusdropping": ""} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			v1, v2 := e2e.GVK("test.reconcel.dev/v1", kind), e2e.GVK("test.reconcel.dev/v2", kind)
			both, _, _ := inVersions(kind)
			w.CRD(both)
			src := rulesFor(kind, rest+valueOfA)
			in := w.run(src)
			w.Create(strings.NewReplacer("Widget", kind, "/v1", "/v2").Replace(widget("one", "value: x")))
			w.Has(v1, "one", map[string]any{"status.value": "x"})
			w.settles()
			in.stop()

			w.drop(kind, "one")
			w.run(strings.Replace(src, "test.reconcel.dev/v1", "test.reconcel.dev/v2", 1))
			w.Patch(v2, "one", `{"spec":{"value":"y"}}`)
			w.Has(v2, "one", map[string]any{"status.value": "y"})
			if rest != "" {
				w.Has(v2, "one", map[string]any{"metadata.labels.value": "y"})
			}
			w.Is(v2, "one", "Ready", "True")
			w.settles()
			w.Quiet(2 * time.Second)
			for manager, version := range versionsOf(w.Get(v2, "one")) {
				if version != "test.reconcel.dev/v2" || strings.HasPrefix(manager, "before-first-apply") {
					t.Errorf("there is an entry of %s in %s", manager, version)
				}
			}
		})
	}
}

// TestVersionThatOthersName drops a version that the entry of another manager names.
func TestVersionThatOthersName(t *testing.T) {
	w := newWorld(t)
	const kind = "Leaving"
	v2 := e2e.GVK("test.reconcel.dev/v2", kind)
	both, _, only := inVersions(kind)
	w.CRD(both)
	src := strings.Replace(rulesFor(kind, valueOfA), "test.reconcel.dev/v1", "test.reconcel.dev/v2", 1)
	w.run(src)
	w.Create(strings.Replace(widget("one", "value: x"), "Widget", kind, 1))
	w.Is(v2, "one", "Ready", "True")
	w.drop(kind, "one")
	w.Patch(v2, "one", `{"spec":{"value":"y"}}`)
	w.Is(v2, "one", "Ready", "False")
	w.saysOf(v2, "Ready", "Rejected", "v1")
	w.told(kind, "one", "Rejected")
	w.Rest(3 * time.Second)

	_, version, _ := strings.Cut(kindLike(kind), "  versions:\n")
	w.replaceCRD(only + strings.NewReplacer("served: true", "served: false", "storage: true", "storage: false").Replace(version))
	w.Is(v2, "one", "Ready", "True")
	w.Has(v2, "one", map[string]any{"status.value": "y"})
	w.settles()
	w.Quiet(2 * time.Second)
}
