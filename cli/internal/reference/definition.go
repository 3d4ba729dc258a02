package reference

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A definition is what a page needs of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Scope string
		Names struct {
			Plural, Singular       string
			ShortNames, Categories []string
		}
		Versions []version
	}
}

// A version is one version of a CRD.
type version struct {
	Name                     string
	Served, Deprecated       bool
	DeprecationWarning       string
	Schema                   struct{ OpenAPIV3Schema *spec.Schema }
	AdditionalPrinterColumns []column
	Subresources             struct{ Scale *scale }
}

// A column is one that kubectl get shows.
type column struct {
	Name, Type, Description, JSONPath string
	Priority                          int
}

// A scale says which fields kubectl scale and autoscalers use.
type scale struct{ SpecReplicasPath, StatusReplicasPath string }

// readDefinition reads a CRD that has no flaws.
func readDefinition(object map[string]any) (*definition, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	d := &definition{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	return d, nil
}

// version returns the version that the rules use.
func (d *definition) version(name string) (version, error) {
	var served []string
	for _, v := range d.Spec.Versions {
		switch {
		case v.Name == name && v.Served:
			return v, nil
		case v.Served:
			served = append(served, v.Name)
		}
	}
	return version{}, fmt.Errorf("the rules use version %s, but its CustomResourceDefinition serves %s", name, strings.Join(served, ", "))
}

// property returns a field of the schema of whole objects, or nil.
func (v version) property(name string) *spec.Schema {
	if v.Schema.OpenAPIV3Schema == nil {
		return nil
	}
	if p, ok := v.Schema.OpenAPIV3Schema.Properties[name]; ok {
		return &p
	}
	return nil
}

// hasConditions reports whether reconcel reports in the status of the resources.
func (v version) hasConditions() bool {
	status := v.property("status")
	if status == nil {
		return false
	}
	_, ok := status.Properties["conditions"]
	return ok
}
