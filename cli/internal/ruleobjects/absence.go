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
// CustomResourceDefinition may be about to be deleted.
const removalSettle = 2 * time.Second

// An absence is the state of an object that is not there.
type absence struct {
	since time.Time // when it was first known that it may be removed; zero: not yet
	with  string    // what it was deleted with: its namespace or its resource, or ""
	why   string    // its rules stay active, or ""
}

// lose records what the object was deleted with.
func (a *absence) lose(with string) {
	a.with, a.why = with, "it was deleted with its "+with+", its rules stay active"
}

// settleAbsences decides about missing objects until ctx ends.
func (o *Objects) settleAbsences(ctx context.Context) {
	var problem outcome.Problem
	for ctx.Err() == nil {
		undecided := o.undecided()
		if len(undecided) > 0 {
			gone, err := o.terminating(ctx)
			if ctx.Err() == nil && problem.IsNews(err) {
				o.Log.Warn("cannot tell whether Rules objects were removed, their rules stay active", "objects", undecided,
					"error", err)
			}
			o.decide(undecided, gone, err)
		}
		select {
		case <-ctx.Done():
		case <-o.absent:
		case <-retryAfter(len(undecided)):
		}
	}
}

// retryAfter returns a channel that receives when missing objects are due to be checked again. It is nil if there are
// none.
func retryAfter(undecided int) <-chan time.Time {
	if undecided == 0 {
		return nil
	}
	return time.After(removalSettle)
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

// decide decides about missing objects. gone says what was deleted with them, or is "". The error says why that is not
// known.
func (o *Objects) decide(names []string, gone string, unknown error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, name := range names {
		switch m := o.missing[name]; {
		case m == nil: // It is back.
		case unknown != nil:
			why := fmt.Sprintf("its rules stay active, as it is not known whether it was removed: %v", unknown)
			if m.why != why {
				m.why = why
				signal(o.changed)
			}
		case gone != "":
			m.lose(gone)
			o.Log.Warn("Rules object deleted, its rules stay active", "object", o.logged(name), "reason", gone+" deleted",
				"hint", "create it again; to remove its rules, delete it then")
			signal(o.changed)
		case m.since.IsZero():
			m.since = now
		case now.Sub(m.since) >= removalSettle:
			delete(o.missing, name)
			o.Log.Info("Rules object removed", "object", o.logged(name))
			signal(o.changed)
		}
	}
}

// logged returns how the log names an object.
func (o *Objects) logged(name string) string { return syntax.Kind + "/" + o.Namespace + "/" + name }

// What is deleted with all of its objects.
const (
	home       = "namespace"
	definition = "CustomResourceDefinition"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// terminating says what is being deleted with all of its objects: the namespace or the resource, or "".
func (o *Objects) terminating(ctx context.Context) (gone string, err error) {
	namespace, err := o.Client.Resource(namespaces).Get(ctx, o.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return home, nil
	case err != nil:
		return "", err
	case namespace.GetDeletionTimestamp() != nil:
		return home, nil
	}
	served, err := o.Discovery.ServerResourcesForGroupVersionWithContext(ctx, rules.RulesResource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return definition, nil
	}
	if err != nil {
		return "", err
	}
	for i := range served.APIResources {
		if r := &served.APIResources[i]; r.Name == rules.RulesResource.Resource && slices.Contains(r.Verbs, "create") {
			return "", nil
		}
	}
	return definition, nil
}
