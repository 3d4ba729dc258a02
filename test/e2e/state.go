package e2e

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Has waits until an object has the wanted values, by path, and returns the duration.
func (w *World) Has(kind schema.GroupVersionKind, name string, want map[string]any) time.Duration {
	w.Helper()
	return w.Eventually(fmt.Sprintf("%s %s with %v", kind.Kind, name, want), func() error {
		u := w.Get(kind, name)
		if u == nil {
			return errors.New("it does not exist")
		}
		for path, value := range want {
			got, _, err := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
			if err != nil {
				return err
			}
			if fmt.Sprint(got) != fmt.Sprint(value) {
				return fmt.Errorf("%s is %v", path, got)
			}
		}
		return nil
	})
}

// Lacks waits until an object does not exist, or is being deleted.
func (w *World) Lacks(kind schema.GroupVersionKind, name string) {
	w.Helper()
	w.Eventually(kind.Kind+" "+name+" to be gone", func() error {
		if u := w.Get(kind, name); u != nil && u.GetDeletionTimestamp() == nil {
			return errors.New("it exists")
		}
		return nil
	})
}

// Is waits until a primary has a condition with this status for the current generation.
func (w *World) Is(kind schema.GroupVersionKind, name, conditionType, status string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s %s to be %s=%s", kind.Kind, name, conditionType, status), func() error {
		u := w.Get(kind, name)
		if err := Condition(u, conditionType, status); err != nil {
			return err
		}
		if observed := findCondition(u, conditionType)["observedGeneration"]; observed != u.GetGeneration() {
			return fmt.Errorf("observed generation %v of %d", observed, u.GetGeneration())
		}
		return nil
	})
}

// Condition returns an error unless an object has a condition with this status.
func Condition(u *unstructured.Unstructured, conditionType, status string) error {
	if u == nil {
		return errors.New("it does not exist")
	}
	if findCondition(u, conditionType)["status"] != status {
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return fmt.Errorf("no condition %s=%s in %v", conditionType, status, list)
	}
	return nil
}

// Current returns an error unless the condition Ready of an object is about its current
// generation.
func Current(u *unstructured.Unstructured) error {
	if u == nil {
		return errors.New("it does not exist")
	}
	if about := findCondition(u, "Ready")["observedGeneration"]; about != u.GetGeneration() {
		return fmt.Errorf("the status is about generation %v, not %d", about, u.GetGeneration())
	}
	return nil
}

func findCondition(u *unstructured.Unstructured, conditionType string) map[string]any {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		if entry, _ := c.(map[string]any); entry["type"] == conditionType {
			return entry
		}
	}
	return nil
}
