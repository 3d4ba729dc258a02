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

// picture returns all objects in the form of a snapshot. It omits uids, times and
// other metadata of the API server, because they differ in each run.
func picture(all []*unstructured.Unstructured) string {
	var b strings.Builder
	b.WriteString(snapshotHead)
	for _, u := range all {
		out := runtime.DeepCopyJSON(u.Object)
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
			unstructured.RemoveNestedField(out, "metadata", field)
		}
		if owners, ok, _ := unstructured.NestedSlice(out, "metadata", "ownerReferences"); ok {
			withoutKey(owners, "uid")
			_ = unstructured.SetNestedSlice(out, owners, "metadata", "ownerReferences") // Cannot fail: the field is already a list.
		}
		if conditions, ok, _ := unstructured.NestedSlice(out, "status", "conditions"); ok {
			withoutKey(conditions, "lastTransitionTime")
			_ = unstructured.SetNestedSlice(out, conditions, "status", "conditions") // Cannot fail, as above.
		}
		dropMarks(out, nil)
		b.WriteString("---\n" + asYAML(out))
	}
	return b.String()
}

func withoutKey(list []any, key string) {
	for _, item := range list {
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
