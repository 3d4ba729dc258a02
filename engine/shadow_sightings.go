package engine

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"reconcel/engine/managedfields"
	"reconcel/engine/shadow"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// This file tells from events which writes the leader has made. managedFields show whose a write
// is: only our own write can add fields to the entry of our manager, or change values that
// the entry still has.

// witness records the writes of the leader that an event shows. It enqueues nothing, because the
// event itself does.
func (e *Engine) witness(w *watch.Watch, old, now *watch.Object) {
	c, err := w.Cache()
	if err != nil {
		return
	}
	o := now
	if o == nil {
		o = old
	}
	s := sightings{
		ledger: e.shadow.ledger, kind: c.Kind(), object: shadow.Part{
			Resource: c.Kind().GVR.GroupResource(), Namespace: o.GetNamespace(), Name: o.GetName(), Manager: managedfields.Manager,
		},
	}
	switch w.Role {
	case watch.Primary:
		s.primaries = []rules.Owner{requestFor(primaryKindOf(w.Key), o)}
		s.ofPrimary(old, now)
	case watch.Child:
		s.primaries = e.requestsOf(o)
		s.ofChild(old, now)
	case watch.Lookup:
	}
}

// requestsOf returns the primaries of a child.
func (e *Engine) requestsOf(o *watch.Object) (all []Request) {
	pl := e.plan.Load()
	for _, owner := range o.Owners() {
		if pl != nil && pl.primaries[owner.Kind] != nil {
			if c, err := pl.primaries[owner.Kind].watch.Cache(); err == nil && !c.Kind().Namespaced {
				owner.Namespace = ""
			}
		}
		all = append(all, owner)
	}
	return all
}

// sightings are the writes that one event shows.
type sightings struct {
	ledger    *shadow.Ledger
	kind      Kind
	object    shadow.Part
	primaries []rules.Owner
}

func (s *sightings) add(part shadow.Part, action shadow.Action) {
	s.ledger.Saw(shadow.Sighting{Part: part, Kind: s.kind.GVK.Kind, Action: action, Primaries: s.primaries})
}

func (s *sightings) addUnsure(part shadow.Part, action shadow.Action) {
	s.ledger.Saw(shadow.Sighting{Part: part, Kind: s.kind.GVK.Kind, Action: action, Unsure: true, Primaries: s.primaries})
}

func (s *sightings) ofChild(old, now *watch.Object) {
	switch {
	case old != nil && old.HasOwnLabel() && !old.Terminating() && (now == nil || now.Terminating()):
		s.addUnsure(s.object, shadow.Deleted)
	case now == nil || !now.HasOwnLabel():
	case old == nil || old.GetUID() != now.GetUID():
		s.add(s.object, shadow.Created)
	case old.Applied() != now.Applied() || gains(old.OwnFields(), now.OwnFields()) || old.ShareFields() != now.ShareFields():
		s.add(s.object, shadow.Configured)
	case now.IsShared() && old.OwnFields() != now.OwnFields(): // An owner has left, or another writer has taken them.
		s.addUnsure(s.object, shadow.Configured)
	}
}

func (s *sightings) isBundle() bool { return s.primaries[0].Kind == rules.BundleKind.GroupKind() }

// ofPrimary is about what the leader writes of a primary. Of one that was deleted, the leader has removed
// the finalizer.
func (s *sightings) ofPrimary(old, now *watch.Object) {
	switch {
	case now == nil && s.isBundle():
		s.addUnsure(s.object, shadow.Deleted)
		return
	case now == nil:
		if ownMetadata(old) != "" {
			s.add(s.object, shadow.Configured)
		}
		return
	case s.isBundle() && (old == nil || old.GetUID() != now.GetUID()):
		s.add(s.object, shadow.Created)
		return
	case old == nil || old.GetUID() != now.GetUID():
		return
	}
	if ownMetadata(old) != ownMetadata(now) {
		s.add(s.object, shadow.Configured)
	}
	status := s.object
	if s.kind.Status {
		status.Subresource = "status"
	} else {
		status.Manager = managedfields.StatusManager
	}
	switch before, after := old.Fields(), now.Fields(); {
	case wrote(old, now, before, after):
		s.add(status, shadow.Configured)
	case before != after: // It has lost fields. Another writer may have removed or taken them.
		s.addUnsure(status, shadow.Configured)
	}
	for _, manager := range patchManagers(old, now) {
		if wrote(old, now, old.PatchFields(manager), now.PatchFields(manager)) {
			patched := s.object
			patched.Manager = manager
			s.add(patched, shadow.Configured)
		}
	}
}

// wrote reports whether our manager has written the fields of its entry.
func wrote(old, now *watch.Object, before, after managedfields.Entry) bool {
	none := managedfields.Entry{}
	switch {
	case before == none && after == none:
		return false
	case after == none: // Reverted, unless another writer has taken all fields.
		return !hasValues(before.Set().Select(now.Content()))
	}
	owned := after.Set()
	return gains(before, after) || !equality.Semantic.DeepEqual(owned.Select(old.Content()), owned.Select(now.Content()))
}

// hasValues reports whether there is more than maps in maps.
func hasValues(v any) bool {
	fields, isMap := v.(map[string]any)
	if !isMap {
		return true
	}
	for _, inside := range fields {
		if hasValues(inside) {
			return true
		}
	}
	return false
}

// gains reports whether an entry has fields that it did not have before.
func gains(before, after managedfields.Entry) bool {
	return before != after && after.Set().HasMoreThan(before.Set())
}

// ownMetadata returns the finalizers and annotations of a primary that reconcel sets by itself.
func ownMetadata(o *watch.Object) string {
	var all []string
	for _, f := range o.GetFinalizers() {
		if rules.IsFinalizer(f) {
			all = append(all, f)
		}
	}
	for key, value := range o.GetAnnotations() {
		if strings.HasPrefix(key, FinalizedPrefix) {
			all = append(all, key+"="+value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// patchManagers returns the managers of all patches of a primary.
func patchManagers(states ...*watch.Object) []string {
	all := map[string]bool{}
	for _, o := range states {
		for manager := range o.PatchManagers() {
			all[manager] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
