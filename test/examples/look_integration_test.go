//go:build integration

package examples

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reconcel/test/e2e"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// field returns the value at a path such as "spec.ports.0.port", or nil.
func field(u *unstructured.Unstructured, path string) any {
	if u == nil {
		return nil
	}
	var in any = u.Object
	for step := range strings.SplitSeq(path, ".") {
		switch value := in.(type) {
		case map[string]any:
			in = value[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(value) {
				return nil
			}
			in = value[i]
		default:
			return nil
		}
	}
	return in
}

// shows waits until an object has this value at a path. "<nil>" means no value.
func (w *world) shows(apiVersion, kind, name, path, want string) *unstructured.Unstructured {
	w.Helper()
	var u *unstructured.Unstructured
	w.eventually(fmt.Sprintf("%s %s to have %s %s", kind, name, path, want), func() error {
		if u = w.get(apiVersion, kind, name); u == nil {
			return errors.New("it does not exist")
		}
		if got := fmt.Sprint(field(u, path)); got != want {
			return fmt.Errorf("it has %s", got)
		}
		return nil
	})
	return u
}

// exists waits until an object exists and is not in deletion.
func (w *world) exists(apiVersion, kind, name string) (u *unstructured.Unstructured) {
	w.Helper()
	w.eventually(kind+" "+name+" to exist", func() error {
		if u = w.get(apiVersion, kind, name); u == nil || u.GetDeletionTimestamp() != nil {
			return errors.New("it does not, or is being deleted")
		}
		return nil
	})
	return u
}

// gone waits until an object does not exist.
func (w *world) gone(apiVersion, kind, name string) {
	w.Helper()
	w.eventually(kind+" "+name+" to be gone", func() error {
		if w.get(apiVersion, kind, name) != nil {
			return errors.New("it is there")
		}
		return nil
	})
}

func (w *world) reports(apiVersion, kind, name, condition, status, reason string) {
	w.Helper()
	want := condition + "=" + status + " " + reason
	w.eventually(fmt.Sprintf("%s %s to say %s", kind, name, want), func() error {
		list, _ := field(w.get(apiVersion, kind, name), "status.conditions").([]any)
		var said []string
		for _, c := range list {
			entry, _ := c.(map[string]any)
			said = append(said, fmt.Sprintf("%v=%v %v", entry["type"], entry["status"], entry["reason"]))
		}
		if !slices.Contains(said, want) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
}

// told waits until there is an Event about an object.
func (w *world) told(kind, name, reason string) {
	w.Helper()
	events := w.Client.Resource(schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"})
	w.eventually(fmt.Sprintf("an Event %s about %s %s", reason, kind, name), func() error {
		list, err := events.List(w.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var said []string
		for i := range list.Items {
			e := &list.Items[i]
			if field(e, "regarding.kind") == kind && field(e, "regarding.name") == name {
				said = append(said, fmt.Sprint(field(e, "reason")))
			}
		}
		if !slices.Contains(said, reason) {
			return fmt.Errorf("there are %q", said)
		}
		return nil
	})
}

// found returns the objects of a kind in the test's namespace that match a selector and
// are not in deletion.
func (w *world) found(apiVersion, kind, selector string) (live []unstructured.Unstructured) {
	w.Helper()
	list, err := w.Resource(e2e.GVK(apiVersion, kind)).List(w.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		w.Fatal(err)
	}
	for _, u := range list.Items {
		if u.GetDeletionTimestamp() == nil {
			live = append(live, u)
		}
	}
	return live
}

// same checks that an object has not been replaced.
func (w *world) same(u *unstructured.Unstructured) {
	w.Helper()
	live, err := w.live(u)
	switch {
	case apierrors.IsNotFound(err):
		w.Errorf("%s is gone", describe(u))
	case err != nil:
		w.Fatal(err)
	case live.GetUID() != u.GetUID():
		w.Errorf("%s is another one now", describe(u))
	}
}

// refuses checks that the schema rejects a change.
func (w *world) refuses(u *unstructured.Unstructured, patch string) {
	w.Helper()
	_, err := w.of(u).Patch(w.Context(), u.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsInvalid(err) {
		w.Errorf("%s: %s is not refused: %v", describe(u), patch, err)
	}
}

// whileDown runs do while the process is stopped.
func (w *world) whileDown(do func()) {
	w.Helper()
	w.process.end()
	do()
	w.start(w.account.kubeconfig)
	w.process.await()
}

// runWith runs the process on rules with one text replaced by another.
func (w *world) runWith(text, another string) {
	w.Helper()
	w.startWith(text, another)
	w.process.await()
}

func (w *world) startWith(text, another string) {
	w.Helper()
	w.process.end()
	files := w.files
	defer func() { w.files = files }()
	w.files = nil
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			w.Fatal(err)
		}
		changed := filepath.Join(w.TempDir(), filepath.Base(file))
		if err := os.WriteFile(changed, bytes.ReplaceAll(data, []byte(text), []byte(another)), 0o600); err != nil {
			w.Fatal(err)
		}
		w.files = append(w.files, changed)
	}
	w.start(w.account.kubeconfig)
}

// agree waits until the primaries are Ready and no change is in progress.
func (w *world) agree() {
	w.Helper()
	w.eventually("it to converge", w.converged)
	w.settled()
}
