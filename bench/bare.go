package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// writeBareCRD writes the CRD of Foo to a folder, without conditions. The status then has what
// that of the sample-controller has, so all competitors report the same.
func writeBareCRD(folder string) error {
	const name = "samplecontroller.k8s.io_foos.yaml"
	original := filepath.Join("crds", name)
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	if text, err = bare(text); err != nil {
		return fmt.Errorf("%s: %w", original, err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), text, 0o600)
}

// bare removes the conditions from the status of a CRD with one version.
func bare(crd []byte) ([]byte, error) {
	var object map[string]any
	if err := yaml.Unmarshal(crd, &object); err != nil {
		return nil, err
	}
	versions, _, err := unstructured.NestedSlice(object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		return nil, errors.Join(errors.New("want one version"), err)
	}
	version, _ := versions[0].(map[string]any)
	status := []string{"schema", "openAPIV3Schema", "properties", "status", "properties"}
	if _, found, err := unstructured.NestedMap(version, append(status, "conditions")...); err != nil || !found {
		return nil, errors.Join(errors.New("want conditions in the status"), err)
	}
	unstructured.RemoveNestedField(version, append(status, "conditions")...)
	if err := unstructured.SetNestedSlice(object, versions, "spec", "versions"); err != nil {
		return nil, err
	}
	return yaml.Marshal(object)
}
