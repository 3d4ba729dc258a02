// Package offline renders resources without a cluster.
package offline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// crdKind is the only version of CRDs that current clusters accept.
var crdKind = runtimeschema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
	Kind: "CustomResourceDefinition"}

// Kinds are the kinds of Kubernetes itself and of the given CRDs.
type Kinds struct {
	*schema.Set
	from map[runtimeschema.GroupKind]*files.Object // the CRD of each kind
}

// ReadKinds reads the CRDs in files and folders. It skips other objects, which are
// often in the same folder. After errors in CRDs, it returns the kinds of the others.
func ReadKinds(from files.Reader, paths []string) (Kinds, error) {
	all := Kinds{Set: schema.Builtin(), from: map[runtimeschema.GroupKind]*files.Object{}}
	objects, unread := from.Objects(paths)
	var definitions []map[string]any
	var sources []source.File
	var wrong []*source.Error
	for _, o := range objects {
		if o.Unstructured.GroupVersionKind().GroupKind() != crdKind.GroupKind() {
			continue
		}
		flaws := all.define(o)
		for _, flaw := range flaws {
			wrong = append(wrong, source.NewError(o.Position(flaw.Path), "", fmt.Sprintf("%s: %s", o, flaw), ""))
		}
		if len(flaws) == 0 {
			definitions = append(definitions, o.Unstructured.Object)
		}
		sources = append(sources, o.Source())
	}
	defined := map[runtimeschema.GroupKind]string{}
	for gk, o := range all.from {
		defined[gk] = o.File
	}
	set, err := schema.New(schema.Sources{CRDs: definitions, Files: defined})
	if err != nil {
		return all, exit.Wrong(err)
	}
	all.Set = set
	code, failed := exit.Code(unread)
	if !failed {
		code = exit.No
	}
	if others, ok := errors.AsType[source.Errors](unread); ok {
		wrong = append(wrong, others...)
	}
	switch {
	case len(wrong) > 0:
		return all, &exit.Error{Code: code, Err: source.Collect(sources, wrong)}
	case len(paths) > 0 && len(definitions) == 0:
		return all, exit.Wrong(fmt.Errorf("%s: no CustomResourceDefinition there", strings.Join(paths, ", ")))
	}
	return all, nil
}

// define records the kind that a CRD defines. It returns the flaws of the CRD: they would
// switch off checks of the kind.
func (k Kinds) define(o *files.Object) []schema.Flaw {
	if o.Unstructured.GroupVersionKind() != crdKind {
		return []schema.Flaw{{Path: "apiVersion",
			Message: fmt.Sprintf("%s is no longer served by Kubernetes: write %s", o.Unstructured.GetAPIVersion(),
				crdKind.GroupVersion())}}
	}
	gk, _ := schema.Defined(o.Unstructured.Object) // What it misses is a flaw.
	if other := k.from[gk]; other != nil {
		return []schema.Flaw{{Path: "spec.names", Message: other.File + " defines that kind too"}}
	}
	flaws := schema.Flaws(o.Unstructured.Object)
	if len(flaws) == 0 {
		k.from[gk] = o
	}
	return flaws
}

// Definition returns the CRD that defines a kind, or nil.
func (k Kinds) Definition(gk runtimeschema.GroupKind) map[string]any {
	if o := k.from[gk]; o != nil {
		return o.Unstructured.Object
	}
	return nil
}

// complete treats a new resource as the API server would: it rejects an unknown
// version, prunes unknown fields and sets defaults. It returns the fields that it
// pruned.
func (k Kinds) complete(o *files.Object) (pruned []schema.UnknownField, err error) {
	gvk := o.Unstructured.GroupVersionKind()
	gk := gvk.GroupKind()
	if len(k.from) == 0 || schema.BuiltInGroup(gvk.Group) {
		return nil, nil
	}
	crd, kind := k.from[gk], k.Kind(gvk)
	switch {
	case crd == nil:
		return nil, fmt.Errorf("unknown kind %s: no CRD given with --crd defines it%s", gk,
			meantKind(gk, slices.Collect(maps.Keys(k.from))))
	case k.Scope(gk) == schema.ClusterScoped && o.Unstructured.GetNamespace() != "":
		return nil, fmt.Errorf("%s is cluster-scoped (%s): metadata.namespace must not be set", gvk.Kind, crd.File)
	case kind == nil:
		var served []string
		for _, version := range k.Versions(gk) {
			served = append(served, version.GVK.Version)
		}
		return nil, fmt.Errorf("%s has no version %s: %s serves %s", gk, gvk.Version, crd.File, strings.Join(served, ", "))
	}
	structure := k.Structure(kind)
	pruned = structure.Prune(o.Unstructured.Object)
	structure.Default(o.Unstructured.Object)
	return pruned, nil
}

// Resources reads objects that can be rendered or observed. Objects without a
// namespace get the given one.
func (k Kinds) Resources(from files.Reader, paths []string, namespace string) ([]*files.Object, error) {
	objects, err := from.Objects(paths)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := o.Check(); err != nil {
			return nil, exit.Wrong(err)
		}
		if o.Unstructured.GetNamespace() == "" &&
			k.Scope(o.Unstructured.GroupVersionKind().GroupKind()) != schema.ClusterScoped {
			o.Unstructured.SetNamespace(namespace)
		}
	}
	return objects, nil
}

// meantKind returns a suggestion for a misspelt kind, to append to a message. It
// compares kind and group separately: a long group would make all of its kinds
// similar.
func meantKind(gk runtimeschema.GroupKind, known []runtimeschema.GroupKind) string {
	near := func(a, b string) bool { return a == b || source.Nearest(a, []string{b}) == b }
	slices.SortFunc(known, func(a, b runtimeschema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range known {
		if near(gk.Kind, k.Kind) && near(gk.Group, k.Group) {
			return fmt.Sprintf(" (did you mean %s?)", k)
		}
	}
	return ""
}
