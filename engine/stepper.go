package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/discover"
	"reconcel/engine/watch"
	kindschema "reconcel/rules/schema"
)

// A Snapshot has the objects of a cluster at a resourceVersion. The Stepper does
// not change them.
type Snapshot struct {
	Objects []*unstructured.Unstructured
	Version string
	// Numbers are the number fields of the kinds of the program.
	Numbers kindschema.NumberFields
}

// List lists the whole snapshot. The feed filters it with its watch's selector.
func (now Snapshot) List(context.Context, discover.Kind) watch.List { return now.each }

// each is a watch.List.
func (now Snapshot) each(visit func(*unstructured.Unstructured) error) (version string, err error) {
	for _, u := range now.Objects {
		if err := visit(u); err != nil {
			return "", err
		}
	}
	return now.Version, nil
}
