package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"reconcel/rules/schema"
)

// Kinds are the kinds that a cluster serves. Any number of clusters may share them at the same
// time. What is computed of them is computed once.
type Kinds struct {
	set        *schema.Set
	byGVK      map[runtimeschema.GroupVersionKind]*schema.Kind
	byResource map[runtimeschema.GroupVersionResource]*schema.Kind

	mu       sync.Mutex
	types    map[runtimeschema.GroupKind]managedfields.TypeConverter
	customs  map[runtimeschema.GroupVersionKind]*custom
	managers map[managerKey]*fieldManager
}

// NewKinds returns the kinds of a set, and more kinds without a schema: their objects keep all
// fields, and their lists are atomic.
func NewKinds(set *schema.Set, more ...*schema.Kind) (*Kinds, error) {
	ks := &Kinds{
		set:        set,
		byGVK:      map[runtimeschema.GroupVersionKind]*schema.Kind{},
		byResource: map[runtimeschema.GroupVersionResource]*schema.Kind{},
		types:      map[runtimeschema.GroupKind]managedfields.TypeConverter{},
		customs:    map[runtimeschema.GroupVersionKind]*custom{},
		managers:   map[managerKey]*fieldManager{},
	}
	for _, k := range append(set.Kinds(), more...) {
		if k.Resource == "" {
			continue // Parts of requests, such as DeleteOptions.
		}
		if ks.byGVK[k.GVK] != nil {
			return nil, fmt.Errorf("kind %s is defined twice", k.GVK)
		}
		if other := ks.byResource[resourceOf(k)]; other != nil {
			return nil, fmt.Errorf("kinds %s and %s: both are served as %s", k.GVK, other.GVK, k.Resource)
		}
		ks.byGVK[k.GVK], ks.byResource[resourceOf(k)] = k, k
	}
	return ks, nil
}

// Kind returns one kind, or nil if it is not served.
func (ks *Kinds) Kind(gvk runtimeschema.GroupVersionKind) *schema.Kind { return ks.byGVK[gvk] }

// of returns the kind of a stored object, in another version if that of the object is no longer served, or nil.
func (ks *Kinds) of(u *unstructured.Unstructured) *schema.Kind {
	gvk := u.GroupVersionKind()
	if k := ks.byGVK[gvk]; k != nil {
		return k
	}
	for _, k := range ks.set.Versions(gvk.GroupKind()) {
		if ks.byGVK[k.GVK] != nil {
			return k
		}
	}
	return nil
}

// Resource returns the kind of a resource, or nil if it is not served.
func (ks *Kinds) Resource(gvr runtimeschema.GroupVersionResource) *schema.Kind {
	return ks.byResource[gvr]
}

// All returns all kinds, in no order.
func (ks *Kinds) All() []*schema.Kind { return slices.Collect(maps.Values(ks.byGVK)) }

// Schemas returns the schemas of the kinds.
func (ks *Kinds) Schemas() *schema.Set { return ks.set }

// Unknown returns the fields of an object, or of a part of one, that its kind does not have.
func (ks *Kinds) Unknown(k *schema.Kind, object map[string]any) []schema.UnknownField {
	return ks.set.Unknown(k, object)
}

// Set returns the schemas of the kinds.
func (ks *Kinds) Set() *schema.Set { return ks.set }

func resourceOf(k *schema.Kind) runtimeschema.GroupVersionResource {
	return k.GVK.GroupVersion().WithResource(k.Resource)
}

// typesOf returns the type converter of a kind in all its versions. It has only the definitions
// that the kind refers to: converting those of a whole cluster takes long.
func (ks *Kinds) typesOf(gk runtimeschema.GroupKind) (managedfields.TypeConverter, error) {
	if t := ks.types[gk]; t != nil {
		return t, nil
	}
	t := managedfields.NewDeducedTypeConverter()
	if models := ks.set.Models(ks.set.Versions(gk)...); len(models) > 0 {
		var err error
		if t, err = managedfields.NewTypeConverter(models, false); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", gk, err)
		}
	}
	ks.types[gk] = t
	return t, nil
}
