package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// objectMeta is the definition of the metadata of every object.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// A Kind is one version of a kind.
type Kind struct {
	GVK        runtimeschema.GroupVersionKind
	Resource   string // the plural name
	Namespaced bool
	Status     bool   // it has a status subresource
	Scale      bool   // it has a scale subresource
	Custom     bool   // a CRD defines it
	Definition string // the name of its schema
	File       string // that has its CRD; "" if it comes from elsewhere
	scale      ScalePaths
}

// ScalePaths are the fields that the scale subresource shows, such as .spec.replicas.
type ScalePaths struct {
	Replicas, StatusReplicas string
	Selector                 string // a text; "" if a CRD names none
}

// ScalePaths returns the fields that the scale subresource of a kind shows. They are those of built-in kinds if no
// CRD tells them.
func (k *Kind) ScalePaths() ScalePaths {
	return ScalePaths{Replicas: cmp.Or(k.scale.Replicas, ".spec.replicas"),
		StatusReplicas: cmp.Or(k.scale.StatusReplicas, ".status.replicas"), Selector: k.scale.Selector}
}

// Sources are what a Set has besides the embedded schemas. CRDs override documents, and
// later sources override earlier ones.
type Sources struct {
	// OpenAPI are documents of a cluster's /openapi/v3, or nil if there is no
	// cluster.
	OpenAPI [][]byte
	// CRDs are decoded CustomResourceDefinitions of apiextensions.k8s.io/v1.
	CRDs []map[string]any
	// Files are the files of the CRDs, if they come from files.
	Files map[runtimeschema.GroupKind]string
}

// A Set is a set of kinds and their schemas. It never changes, and any number of
// goroutines may use it. Do not change what it returns.
type Set struct {
	layers []*source // the first that has a kind or definition counts
	grows  bool
	sorted func() []*Kind // all kinds, computed once
}

// A source is one layer of a Set.
type source struct {
	kinds       map[runtimeschema.GroupVersionKind]*Kind
	definitions map[string]definition
}

func newSource() *source {
	return &source{kinds: map[runtimeschema.GroupVersionKind]*Kind{}, definitions: map[string]definition{}}
}

func (s *source) addKind(k *Kind) { s.kinds[k.GVK] = k }

// A definition returns a schema, or nil if it cannot be decoded. It decodes the schema
// when it is needed.
type definition func() *spec.Schema

func decodeOnce(decode func() (*spec.Schema, error)) definition {
	return sync.OnceValue(func() *spec.Schema {
		s, err := decode()
		if err != nil {
			return nil
		}
		return s
	})
}

// Builtin returns the set of Kubernetes' own kinds.
func Builtin() *Set {
	set := &Set{layers: []*source{builtin()}}
	set.sorted = sync.OnceValue(set.sortKinds)
	return set
}

// New returns Kubernetes' own kinds and those of the sources.
func New(from Sources) (*Set, error) {
	set := Builtin()
	set.grows = from.OpenAPI != nil
	if len(from.OpenAPI) > 0 {
		layer := newSource()
		for i, data := range from.OpenAPI {
			doc, err := ReadDocument(data)
			if err != nil {
				return nil, fmt.Errorf("document %d: %w", i, err)
			}
			layer.addDocument(doc)
		}
		set.layers = append(set.layers, layer)
	}
	slices.Reverse(set.layers)
	set, err := set.With(from.CRDs)
	if err == nil && len(from.Files) > 0 {
		for gvk, k := range set.layers[0].kinds {
			k.File = from.Files[gvk.GroupKind()]
		}
	}
	return set, err
}

// With returns the kinds of a set and those of decoded CustomResourceDefinitions, which
// override them.
func (s *Set) With(crds []map[string]any) (*Set, error) {
	if len(crds) == 0 {
		return s, nil
	}
	layer := newSource()
	for _, crd := range crds {
		if err := layer.addCRD(crd); err != nil {
			return nil, err
		}
	}
	out := &Set{layers: append([]*source{layer}, s.layers...), grows: s.grows}
	out.sorted = sync.OnceValue(out.sortKinds)
	return out, nil
}

func (s *source) addDocument(doc *Document) {
	for _, k := range doc.Kinds {
		s.addKind(k)
	}
	for name, text := range doc.Definitions {
		s.definitions[name] = decodeOnce(func() (*spec.Schema, error) {
			schema := &spec.Schema{}
			return schema, schema.UnmarshalJSON(text)
		})
	}
}

// Kind returns a kind, or nil if it is unknown.
func (s *Set) Kind(gvk runtimeschema.GroupVersionKind) *Kind {
	for _, l := range s.layers {
		if k := l.kinds[gvk]; k != nil {
			return k
		}
	}
	return nil
}

// Grows reports whether the set is taken from a cluster, in which more kinds may be
// created.
func (s *Set) Grows() bool { return s.grows }

// Kinds returns all kinds, sorted by group, kind and version.
func (s *Set) Kinds() []*Kind { return s.sorted() }

func (s *Set) sortKinds() []*Kind {
	all := map[runtimeschema.GroupVersionKind]*Kind{}
	for _, l := range slices.Backward(s.layers) {
		maps.Copy(all, l.kinds)
	}
	return slices.Clip(slices.SortedFunc(maps.Values(all), func(a, b *Kind) int {
		return cmp.Or(cmp.Compare(a.GVK.Group, b.GVK.Group), cmp.Compare(a.GVK.Kind, b.GVK.Kind),
			cmp.Compare(a.GVK.Version, b.GVK.Version))
	}))
}

// Versions returns the known versions of a kind.
func (s *Set) Versions(gk runtimeschema.GroupKind) []*Kind {
	var out []*Kind
	for _, k := range s.Kinds() {
		if k.GVK.GroupKind() == gk {
			out = append(out, k)
		}
	}
	return out
}

// Schema returns the schema of a kind, or nil.
func (s *Set) Schema(gvk runtimeschema.GroupVersionKind) *spec.Schema {
	if k := s.Kind(gvk); k != nil {
		return s.Named(k.Definition)
	}
	return nil
}

// Conditions returns the schema of a kind's status.conditions, or nil.
func (s *Set) Conditions(gvk runtimeschema.GroupVersionKind) *spec.Schema {
	at := s.Schema(gvk)
	for _, name := range []string{"status", "conditions"} {
		if at = s.Resolve(at); at == nil {
			return nil
		}
		p, known := at.Properties[name]
		if !known {
			return nil
		}
		at = &p
	}
	return at
}

// ConditionFields returns the fields that a condition can have, by the schema of status.conditions; nil: any.
func (s *Set) ConditionFields(conditions *spec.Schema) []string {
	item := s.Resolve(itemOf(s.Resolve(conditions)))
	if item == nil || len(item.Properties) == 0 || hasExtension(item, preserveUnknown) {
		return nil
	}
	return slices.Sorted(maps.Keys(item.Properties))
}

// HasOwners reports whether the API server records an owner for each of an object's
// conditions, by the schema of status.conditions.
func HasOwners(conditions *spec.Schema) bool {
	if conditions == nil {
		return false
	}
	merged, keys := MergedBy(conditions)
	return merged == "map" && slices.Equal(keys, []string{"type"})
}

// Named returns a definition, or nil.
func (s *Set) Named(name string) *spec.Schema {
	for _, l := range s.layers {
		if d := l.definitions[name]; d != nil {
			return d()
		}
	}
	return nil
}

// Reference returns the name of the definition that a schema refers to, or "".
// Documents wrap a reference in allOf to add a default or nullable to it.
func Reference(s *spec.Schema) string {
	if s == nil {
		return ""
	}
	if ref := s.Ref.String(); ref != "" {
		return strings.TrimPrefix(ref, RefPrefix)
	}
	if len(s.AllOf) == 1 {
		return Reference(&s.AllOf[0])
	}
	return ""
}

// Resolve returns the schema that a schema refers to, or the schema itself. It returns
// nil for a broken reference. A default and nullable belong to the schema that refers.
func (s *Set) Resolve(at *spec.Schema) *spec.Schema {
	for range 8 { // A reference to a reference is rare, a cycle would be a mistake.
		name := Reference(at)
		if name == "" {
			return at
		}
		at = s.Named(name)
	}
	return nil
}

// Own reports whether a definition belongs to Kubernetes itself. Names of custom
// definitions may begin with io.k8s too.
func Own(definition string) bool {
	rest, ok := strings.CutPrefix(definition, "io.k8s.")
	owner, _, _ := strings.Cut(rest, ".")
	return ok && slices.Contains([]string{"api", "apimachinery", "apiextensions-apiserver", "kube-aggregator"}, owner)
}

// Models returns the definitions of these kinds and all that they refer to, by name, as a
// type converter takes them.
func (s *Set) Models(kinds ...*Kind) map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	var visit func(*spec.Schema)
	need := func(name string) {
		if _, done := out[name]; done || name == "" {
			return
		}
		if d := s.Named(name); d != nil {
			out[name] = d
			visit(d)
		}
	}
	visit = func(at *spec.Schema) {
		need(Reference(at))
		for _, sub := range subschemas(at) {
			visit(sub)
		}
	}
	for _, k := range kinds {
		need(k.Definition)
	}
	return out
}

// subschemas returns the schemas inside a schema.
func subschemas(s *spec.Schema) []*spec.Schema {
	var out []*spec.Schema
	for _, p := range s.Properties {
		out = append(out, &p)
	}
	if s.Items != nil && s.Items.Schema != nil {
		out = append(out, s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out = append(out, s.AdditionalProperties.Schema)
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.OneOf, s.AnyOf} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	return out
}

// builtInGroups are the API groups of Kubernetes itself. A suffix does not identify
// them: the group of a custom kind may end in k8s.io too.
var builtInGroups = sync.OnceValue(func() map[string]bool {
	groups := map[string]bool{}
	for gvk := range builtin().kinds {
		groups[gvk.Group] = true
	}
	for _, gk := range unlisted {
		groups[gk.Group] = true
	}
	groups["extensions"] = true // It has no kinds any more.
	return groups
})

// BuiltInGroup reports whether an API group is one of Kubernetes itself.
func BuiltInGroup(group string) bool { return builtInGroups()[group] }

// unlisted are the cluster-scoped kinds of Kubernetes itself that are not embedded: they
// can only be created, or are not stable.
var unlisted = []runtimeschema.GroupKind{
	{Group: "authentication.k8s.io", Kind: "SelfSubjectReview"},
	{Group: "authentication.k8s.io", Kind: "TokenReview"},
	{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"},
	{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"},
	{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"},
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"},
	{Group: "internal.apiserver.k8s.io", Kind: "StorageVersion"},
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"},
	{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"},
}

// A Scope says whether the objects of a kind have a namespace.
type Scope int

// The scopes.
const (
	UnknownScope Scope = iota
	Namespaced
	ClusterScoped
)

// Scope returns the scope of a kind. An unknown kind of Kubernetes itself counts as
// namespaced.
func (s *Set) Scope(gk runtimeschema.GroupKind) Scope {
	versions := s.Versions(gk)
	switch {
	case len(versions) > 0 && versions[0].Namespaced:
		return Namespaced
	case len(versions) > 0, slices.Contains(unlisted, gk):
		return ClusterScoped
	case BuiltInGroup(gk.Group):
		return Namespaced
	}
	return UnknownScope
}
