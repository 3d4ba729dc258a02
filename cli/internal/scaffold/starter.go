package scaffold

import (
	_ "embed" // for the manifests
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/files"
)

//go:embed starter.yaml
var starter string

// Starter returns manifests to start with: a Deployment and a Service.
func Starter(name string) (all []*unstructured.Unstructured, err error) {
	from := files.Reader{Stdin: strings.NewReader(strings.ReplaceAll(starter, "NAME", name))}
	objects, err := from.Objects([]string{files.Stdin})
	if err != nil {
		return nil, fmt.Errorf("the manifests to start with: %w", err)
	}
	for _, o := range objects {
		all = append(all, &o.Unstructured)
	}
	return all, nil
}
