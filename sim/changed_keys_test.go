package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/engine/managedfields"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// A listMap is a list of a kind whose elements have keys. Lists on the way to it have one element.
type listMap struct {
	kind *schema.Kind
	path []string
	keys []string
	of   *spec.Schema // an element
}

func (l listMap) String() string { return l.kind.GVK.Kind + " " + strings.Join(l.path, ".") }

// listMaps returns the lists of a kind whose elements have keys, apart from those in the metadata and the
// status.
func listMaps(set *schema.Set, k *schema.Kind) (all []listMap) {
	var walk func(s *spec.Schema, path []string, above []*spec.Schema)
	walk = func(s *spec.Schema, path []string, above []*spec.Schema) {
		s = set.Resolve(s)
		if s == nil || slices.Contains(above, s) {
			return
		}
		above = append(above[:len(above):len(above)], s)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if len(path) == 0 && (name == "metadata" || name == "status") {
				continue
			}
			p := s.Properties[name]
			at := append(path[:len(path):len(path)], name)
			field := set.Resolve(&p)
			if field == nil || field.Items == nil || field.Items.Schema == nil {
				walk(&p, at, above)
				continue
			}
			// The extensions are beside the reference.
			if kind, _ := p.Extensions.GetString("x-kubernetes-list-type"); kind != "map" {
				continue // A change in an atomic list or a set is seen and repaired as a whole, or has no key.
			}
			keys, _ := p.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
			all = append(all, listMap{k, at, keys, set.Resolve(field.Items.Schema)})
			walk(field.Items.Schema, append(at[:len(at):len(at)], "*"), above)
		}
	}
	walk(set.Schema(k.GVK), nil, nil)
	return all
}

// element returns an element of the list, with a value in addition to the keys if it has a field of text
// or a number.
func (l listMap) element(set *schema.Set) (item map[string]any, edited map[string]any) {
	item = map[string]any{}
	for _, key := range l.keys {
		item[key] = sample(set, l.of, key)
	}
	for _, name := range slices.Sorted(maps.Keys(l.of.Properties)) {
		if _, isKey := item[name]; isKey {
			continue
		}
		if v := sample(set, l.of, name); v != nil {
			item[name] = v
			break
		}
	}
	edited = maps.Clone(item)
	switch v := item[l.keys[0]].(type) {
	case int64:
		edited[l.keys[0]] = v + 1
	case string:
		edited[l.keys[0]] = v + "2"
	}
	return item, edited
}

func sample(set *schema.Set, of *spec.Schema, name string) any {
	p, found := of.Properties[name]
	if !found {
		return nil
	}
	switch field := set.Resolve(&p); {
	case field.Type.Contains("integer"):
		return int64(80)
	case field.Type.Contains("string"):
		return name
	}
	return nil
}

// object returns an object that has only this list.
func (l listMap) object(item map[string]any, keysOf func(path []string) map[string]any) *unstructured.Unstructured {
	var value any = []any{item}
	for i := len(l.path) - 1; i >= 0; i-- {
		if l.path[i] == "*" {
			outer := maps.Clone(keysOf(l.path[:i]))
			maps.Copy(outer, value.(map[string]any))
			value = []any{outer}
			continue
		}
		value = map[string]any{l.path[i]: value}
	}
	u := &unstructured.Unstructured{Object: value.(map[string]any)}
	u.SetGroupVersionKind(l.kind.GVK)
	u.SetName("one")
	u.SetLabels(map[string]string{"ours": "true"})
	return u
}

// TestChangedKeysAreRepaired changes the key of an element of each list of each of Kubernetes' own kinds, and
// repairs it.
func TestChangedKeysAreRepaired(t *testing.T) {
	set := schema.Builtin()
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, k := range set.Kinds() {
		lists := listMaps(set, k)
		byPath := map[string]listMap{}
		for _, l := range lists {
			byPath[strings.Join(l.path, ".")] = l
		}
		keysOf := func(path []string) map[string]any {
			l := byPath[strings.Join(path, ".")]
			item := map[string]any{}
			for _, key := range l.keys {
				item[key] = sample(set, l.of, key)
			}
			return item
		}
		for _, l := range lists {
			n++
			if why := repairs(set, kinds, l, keysOf); why != nil {
				t.Errorf("%s: %v", l, why)
			}
		}
	}
	t.Logf("%d lists", n)
	if n < 100 {
		t.Errorf("only %d lists were found", n)
	}
}

func repairs(set *schema.Set, kinds *sim.Kinds, l listMap, keysOf func([]string) map[string]any) error {
	item, edited := l.element(set)
	desired := l.object(item, keysOf)
	none := &unstructured.Unstructured{Object: map[string]any{}}
	none.SetGroupVersionKind(l.kind.GVK)
	ours, err := kinds.Merge(none, desired, "", managedfields.Manager)
	if err != nil {
		return err
	}
	stamp(ours, time.Unix(1, 0))
	ours.SetResourceVersion("1")
	changed := l.object(edited, keysOf)
	changed.SetManagedFields(ours.GetManagedFields())
	changed.SetResourceVersion("1")
	live, err := kinds.Track(ours, changed, "kubectl-edit")
	if err != nil {
		return err
	}
	if !managedfields.LosesElements(managedfields.ChildEntry(ours.Object), managedfields.ChildEntry(live.Object)) {
		return fmt.Errorf("the change is not seen")
	}
	patch, err := managedfields.Repair{Live: live, Desired: desired.Object, Manager: managedfields.Rendering, AcceptedBefore: true}.Patch()
	if err != nil || patch == nil {
		return fmt.Errorf("the foreign element is not found (%w) %v", err, live.Object)
	}

	taken, err := sim.Patched(live, types.JSONPatchType, patch)
	if err != nil {
		return err
	}
	repaired, err := kinds.Merge(taken, desired, "", managedfields.Manager)
	if err != nil {
		return err
	}
	repaired.SetManagedFields(nil)
	repaired.SetResourceVersion("")
	desired.SetManagedFields(nil)
	if got, want := fmt.Sprint(repaired.Object), fmt.Sprint(desired.Object); got != want {
		return fmt.Errorf("got %s, want %s", got, want)
	}
	return nil
}

// stamp sets the times of all managers.
func stamp(u *unstructured.Unstructured, at time.Time) {
	all := u.GetManagedFields()
	for i := range all {
		all[i].Time = &metav1.Time{Time: at}
	}
	u.SetManagedFields(all)
}
