package plan

import (
	"fmt"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A PrimaryKind is one primary kind with its watches.
type PrimaryKind struct {
	*rules.Primary
	Watch    *watch.Watch
	Children map[schema.GroupVersionKind]*watch.Watch // kinds that its rules render or rendered before
	ByRule   map[*rules.Rule][]*watch.Watch           // the watches in children, by rule
	Meters   []*meter                                 // one for each of Rules, in the same order
	Lookups  map[*rules.Lookup]*watch.Watch           // read-only

	Digest  uint64       // of its rules
	Rollout *Rollout     // nil: all primaries have the same versions
	Next    *PrimaryKind // the versions of the primaries that the rollout has reached
	Later   *PrimaryKind // the versions that its primaries get when all changes take effect; nil: they have them

	OrphanedObjects *orphanedObjects // of removed rules; Next has the same
	// Deselected are the primaries that the watch does not show and that had something of the rules; nil: not known yet.
	Deselected atomic.Pointer[[]ident.Request]

	Plan *Plan
}

// CountUnshown counts the objects of changed rules whose primaries the cache does not show: the
// selector of the rules no longer matches them.
func (pk *PrimaryKind) CountUnshown(children *watch.Watch, primaries *watch.Cache, counts map[RuleOf]*DeletionCount) {
	cache, err := children.Cache()
	if err != nil {
		return
	}
	for o := range cache.All() {
		for _, owner := range o.Owners() {
			t := counts[RuleOf{o.Rule(), owner.Kind}]
			if t == nil || owner.Kind != pk.GVK.GroupKind() || o.Orphan() || o.Terminating() {
				continue
			}
			if !primaries.Kind().Namespaced {
				owner.Namespace = ""
			}
			if self, _ := primaries.Get(owner.Namespace, owner.Name); self == nil || rules.UIDOf(owner.Kind, self) != owner.UID {
				t.Has(o.Identity(children.GVK), o)
				t.Leaves(o.Identity(children.GVK), owner.UID)
			}
		}
	}
}

// HasObjectOf reports whether a primary has an object of a changed rule. Only those are rendered:
// rendering all of a fleet takes long.
func (pk *PrimaryKind) HasObjectOf(counts map[RuleOf]*DeletionCount, req ident.Request) bool {
	for _, w := range pk.Children {
		cache, err := w.Cache()
		if err != nil {
			continue // A kind that the API server does not serve.
		}
		for o := range cache.OwnedBy(req) {
			if counts[RuleOf{o.Rule(), req.Kind}] != nil {
				return true
			}
		}
	}
	return false
}

// Unlisted returns why the caches do not show all primaries of a rule, or all its objects of some kinds. A kind that
// the API server does not serve has none.
func (pk *PrimaryKind) Unlisted(r *rules.Rule, kinds []schema.GroupVersionKind) error {
	for _, w := range slices.Concat([]*watch.Watch{pk.Watch}, pk.ByRule[r]) {
		if w != pk.Watch && !slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool {
			return gvk.GroupKind() == w.GVK.GroupKind()
		}) {
			continue
		}
		c, err := w.Cache()
		if err == nil {
			err = c.Unlisted()
		}
		if err != nil && !discover.IsNoKind(err) {
			return fmt.Errorf("%s: %w", w.GVK.Kind, err)
		}
	}
	return nil
}

// Forbidden returns which lists a rule needs and this process may not make.
func (pk *PrimaryKind) Forbidden(r *rules.Rule) (all []string) {
	watches := append([]*watch.Watch{pk.Watch}, pk.ByRule[r]...)
	for _, l := range r.Lookups {
		watches = append(watches, pk.Lookups[l])
	}
	for _, w := range watches {
		for _, err := range w.Problems() {
			if text := w.GVK.Kind + ": " + err.Error(); apierrors.IsForbidden(err) && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// RolloutOf returns the state of the rollout that brings another version of a rule, or nil.
func (pk *PrimaryKind) RolloutOf(r *rules.Rule) *inventory.Rollout {
	if pk.Rollout == nil || !slices.ContainsFunc(pk.Rollout.Earlier, func(earlier *rules.Rule) bool {
		return earlier.Name == r.Name
	}) {
		return nil
	}
	is := pk.Rollout.State()
	return &is
}

// MayHaveDeselected reports whether the rules, or earlier versions of them, write into objects of the kind, and
// the watch does not show all of these objects.
func (pk *PrimaryKind) MayHaveDeselected() bool {
	return !pk.ForCluster() && pk.Watch.Selector != "" && slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool {
		return r.WritesPrimary() || pk.Plan.Orphaned.Written[inventory.KeyOf(r)]
	})
}

// Patched reports whether a rule owns fields of a primary besides its status.
func (pk *PrimaryKind) Patched(o *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return PatcherOf(r).HasPatched(o) })
}

// RemembersIn reports whether a primary has the annotation of a rule.
func (pk *PrimaryKind) RemembersIn(o *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { _, found := DoneText(o, r.Name); return found })
}

// HasFinalizer reports whether a primary has the finalizer of one of its rules.
func (pk *PrimaryKind) HasFinalizer(self *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, self.HasFinalizer)
}

// UsesKind reports whether the primaries, or what their rules read, are of one of some kinds.
func (pk *PrimaryKind) UsesKind(some func(schema.GroupVersionKind) bool) bool {
	for gvk := range pk.UsedKinds() {
		if some(gvk) {
			return true
		}
	}
	return pk.Next != nil && pk.Next.UsesKind(some)
}

func (pk *PrimaryKind) addChild(r *rules.Rule, w *watch.Watch) {
	pk.Children[w.GVK] = w
	if !slices.Contains(pk.ByRule[r], w) {
		pk.ByRule[r] = append(pk.ByRule[r], w)
	}
}

// CacheOf returns the cache of a kind of children, or nil if nothing is known of it.
func (pk *PrimaryKind) CacheOf(gvk schema.GroupVersionKind) *watch.Cache {
	if w := pk.Children[gvk]; w != nil {
		c, _ := w.Cache()
		return c
	}
	return nil
}

// HasChild reports whether the caches have such a child that a rule made for a primary.
func (pk *PrimaryKind) HasChild(req ident.Request, is func(*watch.Object) bool) bool {
	for gvk := range pk.Children {
		if c := pk.CacheOf(gvk); c != nil {
			for o := range c.OwnedBy(req) {
				if pk.Made(o) && is(o) {
					return true
				}
			}
		}
	}
	return false
}

// Uses reports whether the primary kind reads from a watch.
func (pk *PrimaryKind) Uses(w *watch.Watch) bool {
	if pk.Watch == w || pk.Children[w.GVK] == w {
		return true
	}
	for _, read := range pk.Lookups {
		if read == w {
			return true
		}
	}
	return pk.Next != nil && pk.Next.Uses(w)
}

// Needs reports whether a rule is for a kind, reads it, or may have created objects of it.
func (pk *PrimaryKind) Needs(r *rules.Rule, gvk schema.GroupVersionKind) bool {
	return pk.Watch.GVK == gvk ||
		slices.ContainsFunc(pk.ByRule[r], func(w *watch.Watch) bool { return w.GVK == gvk }) ||
		slices.ContainsFunc(r.Lookups, func(l *rules.Lookup) bool { return l.GVK == gvk })
}

// Follows reports whether any rule selects primaries in a namespace.
func (pk *PrimaryKind) Follows(namespace string) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return r.Follows(namespace) }) ||
		pk.Next != nil && pk.Next.Follows(namespace)
}

// Made reports whether a child has the label of one of the rules.
func (pk *PrimaryKind) Made(o *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return r.Name == o.Rule() })
}

// KindText returns the kind with its group, as the inventory names it.
func (pk *PrimaryKind) KindText() string { return pk.GVK.GroupKind().String() }

// childSelector selects the label of all children. It keeps all other objects
// of a kind out of our caches.
const childSelector = rules.LabelRule

// primaryKey identifies the watch of primaries, for two versions of their rules.
func primaryKey(home string, p, other *rules.Primary) watch.Key {
	if p.ForCluster() {
		return watch.Key{GVK: rules.BundleObject, Selector: rules.LabelBundle, Role: watch.Primary, Namespace: home}
	}
	return watch.Key{GVK: p.GVK, Selector: commonSelector(slices.Concat(p.Rules, other.Rules)), Role: watch.Primary}
}

// commonSelector returns the selector that all rules for a kind share. If they
// differ, it is "": the whole kind is watched, and each rule selects its objects.
func commonSelector(list []*rules.Rule) string {
	selector := list[0].Selector.String()
	for _, r := range list[1:] {
		if r.Selector.String() != selector {
			return ""
		}
	}
	return selector
}

// AnyChild selects every child.
func AnyChild(*watch.Object) bool { return true }

// IsUncontrolled reports whether the garbage collector leaves an object alone when its
// primary is deleted.
func IsUncontrolled(o *watch.Object) bool {
	_, controlled := o.Controller()
	return !controlled
}

// DoneText returns the annotation of a rule on a primary.
func DoneText(o *watch.Object, rule string) (text string, found bool) {
	metadata, _ := o.Content()["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, found = annotations[rules.DonePrefix+rule].(string)
	return text, found
}

// A Patcher is who patches primaries: a rule, or reconcel itself.
type Patcher struct {
	Rule    *rules.Rule // has only a name or nothing, if it is not a loaded rule
	Manager string
}

// PatcherOf returns the patcher of a rule's patch.
func PatcherOf(rule *rules.Rule) Patcher { return Patcher{rule, managedfields.PatchManager(rule.Name)} }

// Owned returns the managedFields entry of the patch on a primary.
func (by Patcher) Owned(o *watch.Object) managedfields.Entry { return o.PatchFields(by.Manager) }

// HasPatched reports whether a primary has fields of the patch.
func (by Patcher) HasPatched(o *watch.Object) bool { return by.Owned(o) != (managedfields.Entry{}) }
