package ruleobjects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// An object counts as removed if that is known for removalSettle: it may be replaced, or its namespace or
// CustomResourceDefinition may be about to be deleted. A deleted CustomResourceDefinition may be there again soon, so
// it is checked several times.
const (
	removalSettle = 2 * time.Second
	checkEvery    = removalSettle / 8
)

// An absence is the state of an object that is not there.
type absence struct {
	created time.Time // of the object; zero: not known
	since   time.Time // when it was first known that it may be removed; zero: not yet
	with    string    // what it was deleted with: its namespace or its resource, or ""
	why     string    // its rules stay active, or ""
}

// lose records what the object was deleted with.
func (a *absence) lose(with string) {
	a.with, a.why = with, "it was deleted with its "+with+", its rules stay active"
}

// lost records what a missing object was deleted with.
func (o *Objects) lost(name, with string) {
	o.missing[name].lose(with)
	o.Log.Warn("Rules object deleted, its rules stay active", "object", o.logged(name), "reason", with+" deleted",
		"hint", "create it again; to remove its rules, delete it then")
	signal(o.changed)
}

// settleAbsences decides about missing objects until ctx ends.
func (o *Objects) settleAbsences(ctx context.Context) {
	var problem outcome.Problem
	for ctx.Err() == nil {
		undecided := o.undecided()
		var again <-chan time.Time // nil: not before another object is missing
		if len(undecided) > 0 {
			now, err := o.surroundings(ctx)
			if ctx.Err() == nil && problem.IsNews(err) {
				o.Log.Warn("cannot tell whether Rules objects were removed, their rules stay active", "objects", undecided,
					"error", err)
			}
			again = time.After(o.decide(undecided, now, err))
		}
		select {
		case <-ctx.Done():
		case <-o.absent:
		case <-again:
		}
	}
}

// undecided returns the names of the missing objects that may be removed.
func (o *Objects) undecided() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.missing)) {
		if o.missing[name].with == "" {
			names = append(names, name)
		}
	}
	return names
}

// decide decides about missing objects, and returns when to check the others again. The error says why the surroundings
// are not known.
func (o *Objects) decide(names []string, in surroundings, unknown error) (again time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	again = removalSettle
	for _, name := range names {
		switch m := o.missing[name]; {
		case m == nil, m.with != "": // It is back, or was decided meanwhile.
		case unknown != nil:
			m.since = time.Time{}
			why := fmt.Sprintf("its rules stay active, as it is not known whether it was removed: %v", unknown)
			if m.why != why {
				m.why = why
				signal(o.changed)
			}
		case in.deleted != "":
			o.lost(name, in.deleted)
		case m.created.Before(in.since) && !m.created.IsZero():
			o.lost(name, home)
		case in.objects[name]:
			m.since = time.Time{} // The watch will show it.
		case m.since.IsZero():
			m.since, again = now, checkEvery
		case now.Sub(m.since) < removalSettle:
			again = checkEvery
		default:
			delete(o.missing, name)
			o.Log.Info("Rules object removed", "object", o.logged(name))
			signal(o.changed)
		}
	}
	return again
}

// logged returns how the log names an object.
func (o *Objects) logged(name string) string { return syntax.Kind + "/" + o.Namespace + "/" + name }

// What is deleted with all of its objects.
const (
	home       = "namespace"
	definition = "CustomResourceDefinition"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// The surroundings of missing objects tell whether these were removed.
type surroundings struct {
	deleted string          // what is being deleted with all of its objects: the namespace or the resource, or ""
	since   time.Time       // the namespace exists since; older objects were deleted with an earlier one
	objects map[string]bool // the objects that exist. A cache may lack some
}

// surroundings reads them.
func (o *Objects) surroundings(ctx context.Context) (in surroundings, err error) {
	namespace, err := o.Client.Resource(namespaces).Get(ctx, o.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return surroundings{deleted: home}, nil
	case err != nil:
		return in, err
	case namespace.GetDeletionTimestamp() != nil:
		return surroundings{deleted: home}, nil
	}
	in.since = namespace.GetCreationTimestamp().Time
	served, err := o.Discovery.ServerResourcesForGroupVersionWithContext(ctx, rules.RulesResource.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return in, err
	}
	if err != nil || !slices.ContainsFunc(served.APIResources, creates) {
		return surroundings{deleted: definition}, nil
	}
	list, err := o.Client.Resource(rules.RulesResource).Namespace(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return in, err
	}
	in.objects = map[string]bool{}
	for i := range list.Items {
		in.objects[list.Items[i].GetName()] = true
	}
	return in, nil
}

// creates reports whether Rules objects can be created: those of a resource that is being deleted cannot.
func creates(r metav1.APIResource) bool {
	return r.Name == rules.RulesResource.Resource && slices.Contains(r.Verbs, "create")
}
