//go:build integration

package examples

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/kstatus"
)

// listed returns all objects of a kind in the cluster that rules of the example have
// created.
func (w *world) listed(kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	w.Helper()
	list, err := w.ResourceIn(kind, metav1.NamespaceAll).List(w.Context(), metav1.ListOptions{
		LabelSelector: fmt.Sprintf("%s in (%s)", ruleLabel, strings.Join(w.names, ",")),
	})
	if err != nil {
		return nil, err
	}
	if w.withheld != (access{}) {
		return slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool { return !w.isHere(&u) }), nil
	}
	return list.Items, nil
}

// made returns all objects that rules of the example have created, by kind and name.
func (w *world) made() (all []unstructured.Unstructured) {
	w.Helper()
	for _, kind := range w.childKinds() {
		items, err := w.listed(kind)
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, items...)
	}
	return all
}

// converged returns an error until every primary is Ready. A built-in one is ready when Kubernetes' controllers have
// followed what rules patch.
func (w *world) converged() error {
	w.Helper()
	if w.ready != nil {
		return errors.Join(w.ready(w), w.rolledOut())
	}
	for _, p := range w.primaries {
		live, err := w.live(p)
		if err == nil {
			err = condition(live, "Ready")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", describe(p), err)
		}
	}
	return nil
}

// reportsNothing is for primaries without a status, of whose children some come and go with updates.
func reportsNothing(*world) error { return nil }

// rolledOut returns an error until the status of every primary is that of its spec.
func (w *world) rolledOut() error {
	w.Helper()
	for _, p := range w.primaries {
		live, err := w.live(p)
		if err != nil {
			return err
		}
		if readiness, why := kstatus.Judge(live.GroupVersionKind().GroupKind(), live.Object); readiness != kstatus.Ready {
			return fmt.Errorf("%s: %s", describe(live), why)
		}
	}
	return nil
}

// complete returns an error if children are missing, or if there are too many.
func (w *world) complete() error {
	w.Helper()
	return counts(w.children...)(w)
}

// counts returns a check for missing children and for too many.
func counts(all ...children) func(*world) error {
	return func(w *world) error { return w.counted(all) }
}

func (w *world) counted(all []children) error {
	w.Helper()
	made := w.made()
	for _, want := range all {
		var names []string
		for _, u := range made {
			if u.GetKind() == want.kind && u.GetDeletionTimestamp() == nil {
				names = append(names, u.GetName())
			}
		}
		if len(names) != want.count {
			return fmt.Errorf("there are %d children of kind %s, want %d: %v", len(names), want.kind, want.count, names)
		}
		for _, name := range want.names {
			if !slices.Contains(names, w.at(name)) {
				return fmt.Errorf("there is no %s %s, only %v", want.kind, name, names)
			}
		}
	}
	return nil
}

// nothingLeft returns an error if objects remain after the deletion of the primaries.
func (w *world) nothingLeft() error {
	w.Helper()
	for _, p := range w.primaries {
		if live, err := w.live(p); !apierrors.IsNotFound(err) && live != nil {
			return fmt.Errorf("%s is still there, with finalizers %v", describe(p), live.GetFinalizers())
		}
	}
	for _, u := range w.made() {
		if c := w.childOf(u.GetLabels()); c.OnDelete != "orphan" {
			return fmt.Errorf("%s is still there", describe(&u))
		}
	}
	return nil
}

// condition returns an error unless a condition is True for the current generation.
func condition(u *unstructured.Unstructured, kind string) error {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		entry, _ := c.(map[string]any)
		if entry["type"] != kind {
			continue
		}
		if seen, ok := entry["observedGeneration"].(int64); ok && seen != u.GetGeneration() {
			return fmt.Errorf("%s is of generation %d, want %d", kind, seen, u.GetGeneration())
		}
		if entry["status"] != "True" {
			return fmt.Errorf("%s is %v: %v: %v", kind, entry["status"], entry["reason"], entry["message"])
		}
		return nil
	}
	return fmt.Errorf("it has no condition %s", kind)
}

func describe(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return u.GetKind() + "/" + u.GetName()
	}
	return u.GetKind() + "/" + u.GetNamespace() + "/" + u.GetName()
}

// split separates the namespace from a name.
func split(name string) (namespace, rest string) {
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		return namespace, rest
	}
	return "", name
}
