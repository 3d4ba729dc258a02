package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/source"
)

// crdKind is the only kind of definition that current clusters take.
var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// A crd is what rendering needs of a CustomResourceDefinition.
type crd struct {
	file   string
	object map[string]any // the whole definition
	Spec   struct {
		Group string
		Scope string
		Names struct{ Kind string }

		Versions []crdVersion
	}
}

type crdVersion struct {
	Name   string
	Served bool
	Schema struct {
		OpenAPIV3Schema *structure
	}
}

// crds reads the definitions in files and folders. Other objects there are
// passed over: people keep definitions beside what uses them.
func (a *app) crds(where search, paths []string) (kinds, error) {
	all := kinds{crds: map[schema.GroupKind]*crd{}}
	objects, err := a.objects(where, paths)
	if err != nil {
		return all, err
	}
	var wrong []error
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		if gvk.GroupKind() != crdKind.GroupKind() {
			continue
		}
		if gvk != crdKind {
			wrong = append(wrong, fmt.Errorf("%s: %s: apiVersion %s is no longer served by Kubernetes: write %s", o.file, o, o.GetAPIVersion(), crdKind.GroupVersion()))
			continue
		}
		c, err := newCRD(o)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %w", o.file, o, err))
			continue
		}
		gk := schema.GroupKind{Group: c.Spec.Group, Kind: c.Spec.Names.Kind}
		if other := all.crds[gk]; other != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %s defines that kind too", o.file, o, other.file))
			continue
		}
		all.crds[gk] = c
	}
	if len(wrong) > 0 {
		return all, no(errors.Join(wrong...))
	}
	if len(paths) > 0 && !all.given() {
		return all, no(fmt.Errorf("%s: no CustomResourceDefinition there", strings.Join(paths, ", ")))
	}
	return all, nil
}

func newCRD(o *object) (*crd, error) {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	c := &crd{file: o.file, object: o.Object}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	if c.Spec.Group == "" || c.Spec.Names.Kind == "" || len(c.Spec.Versions) == 0 {
		return nil, errors.New("spec.group, spec.names.kind and spec.versions must be set")
	}
	return c, nil
}

// complete does to a new resource what the API server would: refuse a version
// that there is not, drop unknown fields, fill in defaults. It returns the
// fields that it dropped.
func (k kinds) complete(o *object) (dropped []string, err error) {
	gvk := o.GroupVersionKind()
	if !k.given() || rules.BuiltIn(gvk.Group) {
		return nil, nil
	}
	c := k.crds[gvk.GroupKind()]
	if c == nil {
		return nil, fmt.Errorf("unknown kind %s: no CRD given with --crd defines it%s", gvk.GroupKind(), meantKind(gvk.GroupKind(), k.known()))
	}
	if c.Spec.Scope == "Cluster" && o.GetNamespace() != "" {
		return nil, fmt.Errorf("%s is cluster-scoped (%s): metadata.namespace must not be set", gvk.Kind, c.file)
	}
	var served []string
	for i := range c.Spec.Versions {
		version := &c.Spec.Versions[i]
		if !version.Served {
			continue
		}
		if version.Name == gvk.Version {
			root := version.Schema.OpenAPIV3Schema.asRoot()
			dropped = root.prune(o.Object, "")
			root.fill(o.Object)
			return dropped, nil
		}
		served = append(served, version.Name)
	}
	return nil, fmt.Errorf("%s has no version %s: %s serves %s", gvk.GroupKind(), gvk.Version, c.file, strings.Join(served, ", "))
}

// meant returns what a misspelt word may have meant, to go behind it.
func meant(word string, options []string) string {
	if near := source.Nearest(word, options); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
