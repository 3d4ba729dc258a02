//go:build integration

package examples

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hashOf returns the hash in the Pod template of a workload.
func hashOf(u *unstructured.Unstructured) string {
	annotations, _, _ := unstructured.NestedStringMap(u.Object, "spec", "template", "metadata", "annotations")
	return annotations["platform.example.com/config-hash"]
}

// hashed returns an error until all workloads have a hash.
func hashed(w *world) error {
	for _, p := range w.primaries {
		live, err := w.live(p)
		if err != nil {
			return err
		}
		if len(hashOf(live)) != 64 {
			return fmt.Errorf("%s has the hash %q", describe(live), hashOf(live))
		}
	}
	return nil
}

// reloaderStory changes a ConfigMap that one workload uses, and a Secret that two use.
func reloaderStory(w *world) {
	store, db, logs := w.primary("Deployment", "store"), w.primary("StatefulSet", "store"), w.primary("DaemonSet", "logs")
	hash := func(of *unstructured.Unstructured) string {
		w.Helper()
		live, err := w.live(of)
		if err != nil {
			w.Fatal(err)
		}
		return hashOf(live)
	}
	change := func(kind, name, patch string, restarts ...*unstructured.Unstructured) {
		w.Helper()
		before := map[*unstructured.Unstructured]string{}
		for _, workload := range []*unstructured.Unstructured{store, db, logs} {
			before[workload] = hash(workload)
		}
		w.patch(w.exists("v1", kind, name), patch)
		for _, workload := range restarts {
			w.eventually("the workload to restart", func() error {
				if hash(workload) == before[workload] {
					return fmt.Errorf("%s has its old hash", describe(workload))
				}
				return nil
			})
			delete(before, workload)
		}
		w.agree()
		for workload, old := range before {
			if hash(workload) != old {
				w.Errorf("%s restarts, and uses nothing that has changed", describe(workload))
			}
		}
	}
	change("ConfigMap", "store-settings", `{"data":{"currency":"USD"}}`, store)
	change("Secret", "store-password", `{"data":{"password":"bmV3"}}`, store, db)
	change("ConfigMap", "logs-settings", `{"metadata":{"labels":{"team":"a"}}}`)
}
