package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine"
	"reconcel/rules"
)

// A differ compares what rules want with what a cluster has.
type differ struct {
	loaded    loading
	cluster   *liveCluster
	namespace string // "": all
	selector  labels.Selector
	names     []primaryName // none: all
	former    map[*rules.Rule][]schema.GroupVersionKind
	notes     []string
}

func (d *differ) tell(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// A primaryName names resources on the command line, in kubectl's way.
type primaryName struct {
	text, kind, name string
}

func parsePrimaryName(arg string) (primaryName, error) {
	kind, name, found := strings.Cut(arg, "/")
	if !found || kind == "" || name == "" || strings.Contains(name, "/") {
		return primaryName{}, misused("%q names no resource: expected KIND/NAME, such as foo/example", arg)
	}
	return primaryName{arg, strings.ToLower(kind), name}, nil
}

// of reports whether a kind goes by the name's: as Foo, foo or foos, with or
// without its group.
func (n primaryName) of(gvk schema.GroupVersionKind, k *engine.Kind) bool {
	names := []string{strings.ToLower(gvk.Kind)}
	if k != nil {
		names = append(names, k.GVR.Resource, k.Singular)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && (n.kind == name || n.kind == name+"."+gvk.Group)
	})
}

// passes finds the resources to look at, in the order of the rules, and then
// of their names.
func (d *differ) passes(ctx context.Context) ([]*diffPass, error) {
	var all []*diffPass
	found, known := map[primaryName]bool{}, map[primaryName]bool{}
	for _, primary := range d.loaded.program.Primaries() {
		k, err := d.cluster.kind(ctx, primary.GVK)
		if err != nil {
			return nil, err
		}
		names := d.namesOf(primary, k)
		if len(d.names) > 0 && len(names) == 0 {
			continue
		}
		for _, n := range names {
			known[n] = true
		}
		if k == nil {
			d.tell("the API server does not know %s, kind %s: there is nothing to compare", primary.GVK.GroupVersion(), primary.GVK.Kind)
			continue
		}
		list, err := d.primaries(ctx, k, names)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			for _, n := range names {
				found[n] = found[n] || n.name == o.GetName()
			}
			all = append(all, &diffPass{differ: d, primary: primary, kind: k, self: o})
		}
	}
	for _, n := range d.names {
		switch {
		case !known[n]:
			return nil, misused("%q: no rule is for that kind", n.text)
		case !found[n]:
			return nil, fmt.Errorf("%s is not found%s", n.text, d.where())
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, d.findFormer(ctx)
}

func (d *differ) where() string {
	where := ""
	if d.namespace != "" {
		where += " in namespace " + d.namespace
	}
	if !d.selector.Empty() {
		where += " with labels " + d.selector.String()
	}
	return where
}

// namesOf returns the names that are given of a kind.
func (d *differ) namesOf(primary *rules.Primary, k *engine.Kind) (names []primaryName) {
	for _, n := range d.names {
		if n.of(primary.GVK, k) {
			names = append(names, n)
		}
	}
	return names
}

// primaries lists the resources of one kind. Those that no rule selects are
// among them, because they may have been selected before.
func (d *differ) primaries(ctx context.Context, k *engine.Kind, names []primaryName) ([]*liveObject, error) {
	q := liveQuery{kind: *k, selector: d.selector.String()}
	if k.Namespaced {
		q.namespace = d.namespace
	}
	if len(names) == 1 {
		q.byField = "metadata.name=" + names[0].name
	}
	list, err := d.cluster.list(ctx, q)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	if len(names) > 0 {
		list = slices.DeleteFunc(list, func(o *liveObject) bool {
			return !slices.ContainsFunc(names, func(n primaryName) bool { return n.name == o.GetName() })
		})
	}
	slices.SortFunc(list, byNamespacedName)
	return list, nil
}

func byNamespacedName(a, b *liveObject) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// Where run keeps what kinds each rule has rendered.
const (
	inventorySelector = "app.kubernetes.io/managed-by=reconcel"
	inventorySuffix   = "-inventory"
)

// findFormer learns from the inventories of the cluster which kinds the rules
// have rendered once and do not any more: run prunes those as well. Not
// everybody may read them.
func (d *differ) findFormer(ctx context.Context) error {
	d.former = map[*rules.Rule][]schema.GroupVersionKind{}
	configMaps := engine.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true}
	list, err := d.cluster.list(ctx, liveQuery{kind: configMaps, selector: inventorySelector})
	if apierrors.IsForbidden(err) {
		d.tell("the inventory of reconcel may not be read: children of kinds that a rule has no more are not looked for")
		return nil
	}
	if err != nil {
		return err
	}
	for _, o := range list {
		if !strings.HasSuffix(o.GetName(), inventorySuffix) {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		for _, primary := range d.loaded.program.Primaries() {
			for _, r := range primary.Rules {
				d.former[r] = append(d.former[r], formerKinds(r, data[r.Name])...)
			}
		}
	}
	return nil
}

// formerKinds returns the kinds that an entry of an inventory has and the rule
// has not. The entry may be that of another rule of the same name.
func formerKinds(r *rules.Rule, entry string) (former []schema.GroupVersionKind) {
	var was struct {
		For      string
		Children []string
	}
	if json.Unmarshal([]byte(entry), &was) != nil || was.For != r.GVK.GroupKind().String() {
		return nil
	}
	for _, text := range was.Children {
		at := strings.LastIndex(text, "/")
		gvk := schema.FromAPIVersionAndKind(text[:max(at, 0)], text[at+1:])
		if !slices.ContainsFunc(r.Children, func(c *rules.Child) bool { return c.GVK.GroupKind() == gvk.GroupKind() }) {
			former = append(former, gvk)
		}
	}
	return former
}
