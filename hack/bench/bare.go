package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// statusOfFoo is where a version of a CRD has the fields of the status.
var statusOfFoo = []string{"schema", "openAPIV3Schema", "properties", "status", "properties"}

// writeCRD writes the CRD of Foo to a folder, with another status.
func writeCRD(folder string, change func(status map[string]any) error) error {
	const name = "samplecontroller.k8s.io_foos.yaml"
	original := filepath.Join("crds", name)
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	if text, err = withStatus(text, change); err != nil {
		return fmt.Errorf("%s: %w", original, err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), text, 0o600)
}

// withStatus changes the fields of the status in a CRD with one version.
func withStatus(crd []byte, change func(status map[string]any) error) ([]byte, error) {
	var object map[string]any
	if err := yaml.Unmarshal(crd, &object); err != nil {
		return nil, err
	}
	versions, _, err := unstructured.NestedSlice(object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		return nil, errors.Join(errors.New("want one version"), err)
	}
	version, _ := versions[0].(map[string]any)
	status, found, err := unstructured.NestedMap(version, statusOfFoo...)
	if err != nil || !found {
		return nil, errors.Join(errors.New("want fields in the status"), err)
	}
	if err := change(status); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedMap(version, status, statusOfFoo...); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedSlice(object, versions, "spec", "versions"); err != nil {
		return nil, err
	}
	return yaml.Marshal(object)
}

// bare removes the conditions from a status. It then has what that of the sample-controller has,
// so all competitors report the same.
func bare(status map[string]any) error {
	if _, found := status["conditions"]; !found {
		return errors.New("want conditions in the status")
	}
	delete(status, "conditions")
	return nil
}

// generational is bare with the field that Metacontroller adds to every status. The API server
// would drop it, and Metacontroller write the status again whenever it reconciles.
func generational(status map[string]any) error {
	status["observedGeneration"] = map[string]any{"type": "integer", "format": "int64"}
	return bare(status)
}
