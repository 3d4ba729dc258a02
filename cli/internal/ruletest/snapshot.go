package ruletest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// snapshotHead is the first line of a snapshot.
const snapshotHead = "# Everything in the cluster. Written by: reconcel test --update\n"

// snapshotOf returns all objects in the form of a snapshot. It omits uids, times and
// other metadata of the API server, because they differ in each run.
func snapshotOf(all []*unstructured.Unstructured) string {
	var b strings.Builder
	b.WriteString(snapshotHead)
	for _, u := range all {
		out := runtime.DeepCopyJSON(u.Object)
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
			unstructured.RemoveNestedField(out, "metadata", field)
		}
		dropFromItems(out, "uid", "metadata", "ownerReferences")
		dropFromItems(out, "lastTransitionTime", "status", "conditions")
		dropMarks(out, nil)
		b.WriteString("---\n" + asYAML(out))
	}
	return b.String()
}

// dropFromItems removes a key from each item of a list.
func dropFromItems(object map[string]any, key string, path ...string) {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	items, _ := value.([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			delete(fields, key)
		}
	}
}

// readSnapshot returns a snapshot, or "" if the file does not exist.
func readSnapshot(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), err
}

func writeSnapshot(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
