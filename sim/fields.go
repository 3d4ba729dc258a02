package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/rules/schema"
)

// A fieldManager merges applied objects and updates managedFields, for one kind or one of its
// subresources.
type fieldManager = managedfields.FieldManager

type managerKey struct {
	gvk         runtimeschema.GroupVersionKind
	subresource string
}

// manager returns the field manager of a kind or of one of its subresources.
func (ks *Kinds) manager(k *schema.Kind, subresource string) (*fieldManager, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	key := managerKey{k.GVK, subresource}
	if m := ks.managers[key]; m != nil {
		return m, nil
	}
	m, err := ks.newManager(k, subresource)
	if err != nil {
		return nil, err
	}
	ks.managers[key] = m
	return m, nil
}

func (ks *Kinds) newManager(k *schema.Kind, subresource string) (*fieldManager, error) {
	if subresource == "scale" {
		// A Scale has no lists, so that its types can be deduced from its values.
		return managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(),
			unconverted{version: scaleKind.GroupVersion()}, unstructuredscheme.NewUnstructuredDefaulter(),
			unstructuredscheme.NewUnstructuredCreator(),
			scaleKind, scaleKind.GroupVersion(), subresource, nil)
	}
	converter, err := ks.typesOf(k.GVK.GroupKind())
	if err != nil {
		return nil, err
	}
	var reset *fieldpath.Set
	switch {
	case subresource == "status" && k.Custom:
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	case subresource == "status":
		reset = builtinStatusReset(k)
	case k.Status:
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	default:
		reset = fieldpath.NewSet()
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(k.GVK.GroupVersion().String()): fieldpath.NewExcludeSetFilter(reset),
	}
	gv := k.GVK.GroupVersion()
	if !k.Custom {
		return managedfields.NewDefaultFieldManager(converter, unconverted{version: gv},
			unstructuredscheme.NewUnstructuredDefaulter(), unstructuredscheme.NewUnstructuredCreator(), k.GVK, gv, subresource,
			filters)
	}
	return managedfields.NewDefaultCRDFieldManager(converter, unconverted{version: gv}, ks.customLocked(k),
		unstructuredscheme.NewUnstructuredCreator(), k.GVK, gv, subresource, filters)
}

// Merge returns the result of a forced server-side apply on an object or its subresource, before
// defaults, admission and validation. It does not change its arguments.
func (ks *Kinds) Merge(live, applied *unstructured.Unstructured,
	subresource, manager string) (*unstructured.Unstructured, error) {
	k := ks.Kind(applied.GroupVersionKind())
	if k == nil {
		return nil, fmt.Errorf("there is no kind %s", applied.GroupVersionKind())
	}
	fm, err := ks.manager(k, subresource)
	if err != nil {
		return nil, err
	}
	merged, err := fm.Apply(live.DeepCopy(), applied.DeepCopy(), manager, true)
	if err != nil {
		return nil, err
	}
	return merged.(*unstructured.Unstructured), nil
}

// Track updates the managedFields of an object after a write other than an apply. It does not
// change its arguments.
func (ks *Kinds) Track(before, after *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	k := ks.Kind(after.GroupVersionKind())
	if k == nil {
		return nil, fmt.Errorf("there is no kind %s", after.GroupVersionKind())
	}
	fm, err := ks.manager(k, "")
	if err != nil {
		return nil, err
	}
	return trackUpdate(fm, before, after.DeepCopy(), manager), nil
}

// trackUpdate updates managedFields after a write other than an apply. They stay as they are
// if the object does not match its schema: the write will be rejected for a better reason.
func trackUpdate(fm *fieldManager, old, u *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	next, err := fm.Update(old.DeepCopy(), u.DeepCopy(), manager)
	if err != nil {
		u.SetManagedFields(old.GetManagedFields())
		return u
	}
	return next.(*unstructured.Unstructured)
}

// unconverted stands in for the conversion between versions of a kind: field managers see the object in
// their own version, whatever version an entry of managedFields names. A field that has another path in
// that version is nobody's. Field managers call no other method.
type unconverted struct {
	runtime.ObjectConvertor
	version runtimeschema.GroupVersion
}

// ConvertToVersion implements runtime.ObjectConvertor. It does not change in.
func (c unconverted) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is not an unstructured object", in)
	}
	if gvk := u.GroupVersionKind(); gvk.GroupVersion() != c.version {
		return InVersion(u, c.version.WithKind(gvk.Kind)), nil
	}
	return u, nil
}

// InVersion returns a shallow copy with another version or kind.
func InVersion(u *unstructured.Unstructured, gvk runtimeschema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	out.SetGroupVersionKind(gvk)
	return out
}

func newObject(gvk runtimeschema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	return u
}

// stampTime sets the cluster's time on the entries of managedFields that a write has changed.
// The field manager sets the real time on all entries, so that a write without a change would
// change them.
func stampTime(obj, old *unstructured.Unstructured, now metav1.Time) {
	var before []metav1.ManagedFieldsEntry
	if old != nil {
		before = old.GetManagedFields()
	}
	entries := obj.GetManagedFields()
	if len(entries) == 0 {
		return
	}
	for i := range entries {
		entries[i].Time = &now
		for j := range before {
			if sameEntry(&entries[i], &before[j]) {
				entries[i].Time = before[j].Time
			}
		}
	}
	slices.SortStableFunc(entries, inOrder)
	obj.SetManagedFields(entries)
}

func sameEntry(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		a.APIVersion == b.APIVersion &&
		a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString()
}

// inOrder orders entries as the API server does: applies first, then by time and manager.
func inOrder(a, b metav1.ManagedFieldsEntry) int {
	byTime := 0
	if a.Time != nil && b.Time != nil {
		byTime = a.Time.Compare(b.Time.Time)
	}
	return cmp.Or(cmp.Compare(a.Operation, b.Operation), byTime, cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource))
}
