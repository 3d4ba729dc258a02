// Package status reads the state of all resources that rules are for, as the
// status command reports it.
package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// A Query selects what to report.
type Query struct {
	Program          *rules.Program       // nil: the kinds come from inventories
	Targets          []cluster.Target     // none: all resources
	Namespace        string               // "": all
	States           []rendered.State     // to list
	NamedInAnyState  bool                 // list a resource that a target names in any state
	Installation     types.NamespacedName // zero: all in the cluster
	ContextNamespace string               // of the kubeconfig
}

// A Reader is a report with what is needed to follow its resources.
type Reader struct {
	Query
	Report
	Failed error // why the report is incomplete, apart from missing permissions

	cluster *cluster.Cluster
	kinds   []*kind
	now     time.Time
}

// Read finds the kinds to report on, and reads their resources and the leaders.
func Read(ctx context.Context, live *cluster.Cluster, q Query) (*Reader, error) {
	r := &Reader{Query: q, Report: newReport(), cluster: live, now: time.Now()}
	installations, unread := r.installations(ctx)
	switch {
	case q.Program != nil && unread != nil:
		r.problem(inventoryUnreadable, nil, "%s", unread)
	case q.Program != nil && len(installations) == 0:
		r.problem(notInstalled, nil, "%s", cluster.ErrNotInstalled)
	case q.Program != nil:
	case apierrors.IsForbidden(unread):
		return nil, fmt.Errorf("without -f, the kinds come from the inventory of an installation: %w", unread)
	case unread != nil:
		return nil, fmt.Errorf("the inventory, which has the kinds to list, cannot be read: %w", unread)
	case len(installations) == 0:
		return nil, fmt.Errorf("%w; or give the rules with -f", cluster.ErrNotInstalled)
	}
	r.readRules(installations)
	if err := r.findKinds(ctx, installations); err != nil {
		return nil, err
	}
	if err := r.readResources(ctx); err != nil {
		return nil, err
	}
	r.readLeaders(ctx, installations)
	return r, nil
}

// OfRules returns what is wrong with the rules of the installations in a cluster, for people, as far as it can be
// read. home is the namespace of the context.
func OfRules(ctx context.Context, live *cluster.Cluster, home string) string {
	r := &Reader{Query: Query{ContextNamespace: home}, Report: newReport(), cluster: live, now: time.Now()}
	installations, _ := r.installations(ctx)
	r.readRules(installations)
	return r.Header()
}

// readRules reports what is wrong with the rules of installations.
func (r *Reader) readRules(installations []inventory.Stored) {
	r.readRejected(installations)
	r.readHeld(installations)
	r.readRollouts(installations)
}

// readRejected reports the rules files that are not active.
func (r *Reader) readRejected(installations []inventory.Stored) {
	for _, i := range installations {
		rejected, err := i.Rejected()
		r.damaged(i, err)
		if rejected == nil {
			continue
		}
		kind := rulesRejected
		if rejected.Active {
			kind = rulesInvalidForCluster
		}
		r.problem(kind, nil, "%s/%s, for %s: %s", i.Namespace, i.Installation,
			output.Age(&metav1.Time{Time: rejected.Since}, r.now), rejected)
	}
}

// damaged reports that an inventory cannot be understood as a whole.
func (r *Reader) damaged(i inventory.Stored, err error) {
	if err != nil {
		r.problem(inventoryUnreadable, nil, "inventory %s: %s", i, err)
		r.Failed = err
	}
}

// readHeld reports the changes of rules that wait for an approval.
func (r *Reader) readHeld(installations []inventory.Stored) {
	for _, i := range installations {
		held, err := i.Held()
		r.damaged(i, err)
		for _, change := range held {
			r.Problems = append(r.Problems, Problem{Type: changeHeld, Kind: change.Kind, Rules: []string{change.Rule},
				Message: change.Message})
		}
	}
}

// readRollouts reports the rollouts that do not go on by themselves.
func (r *Reader) readRollouts(installations []inventory.Stored) {
	for _, i := range installations {
		rollouts, err := i.Rollouts()
		r.damaged(i, err)
		for _, kind := range slices.Sorted(maps.Keys(rollouts)) {
			if text := rollouts[kind].Stopped(kind, i.Flags()); text != "" {
				r.Problems = append(r.Problems, Problem{Type: rolloutStopped, Kind: kind, Message: i.Name() + ": " + text})
			}
		}
	}
}

// findKinds finds the requested kinds of the rules, or else of the inventories.
func (r *Reader) findKinds(ctx context.Context, installations []inventory.Stored) (err error) {
	if r.Program != nil {
		r.kinds = kindsOfProgram(r.Program)
	} else {
		var all []map[inventory.Key]inventory.Entry
		for _, i := range installations {
			entries, err := i.Entries()
			r.damaged(i, err)
			all = append(all, entries)
		}
		r.kinds = kindsOfInventories(all...)
	}
	for _, k := range r.kinds {
		if err := k.find(ctx, r.cluster.Kinds); err != nil {
			return err
		}
	}
	r.kinds, err = targeted(r.kinds, r.Targets)
	return err
}

// readResources reads all kinds. An unreadable kind is a problem in the report; a
// requested resource that does not exist is an error.
func (r *Reader) readResources(ctx context.Context) error {
	for _, k := range r.kinds {
		if k.unavailable != nil {
			r.addUnreadable(k, k.unavailable)
			continue
		}
		if k.served == nil {
			r.problem(kindNotServed, k, "the API server does not serve %s, apply its CustomResourceDefinition", k.gk)
			continue
		}
		r.Summary.Kinds++
		found, err := r.readKind(ctx, k)
		if err != nil {
			r.addUnreadable(k, err)
			continue
		}
		for _, t := range k.targets {
			if t.Name != "" && !found[t.Name] {
				return fmt.Errorf("%s not found", t.Text)
			}
		}
	}
	slices.SortFunc(r.Resources, byUrgency)
	return nil
}

// byUrgency sorts the worst state first, and within a state the oldest. Unknown
// times are last.
func byUrgency(a, b rendered.Resource) int {
	since := func(r *rendered.Resource) int64 {
		if r.Since == nil {
			return math.MaxInt64
		}
		return r.Since.UnixMicro()
	}
	return cmp.Or(
		rendered.Compare(a.State, b.State), cmp.Compare(since(&a), since(&b)),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

func (r *Reader) addUnreadable(k *kind, err error) {
	if !apierrors.IsForbidden(err) {
		r.problem(listFailed, k, "%s could not be listed: %s", k.gk, err)
		r.Failed = err
		return
	}
	hint := ""
	if r.Namespace == "" && k.served.Namespaced {
		hint = " (-n asks for one namespace)"
	}
	r.problem(listForbidden, k, "%s may not be listed%s: %s", k.gk, hint, err)
}

// readKind reads all resources of a kind, page by page, and returns their names. It keeps only
// those to list.
func (r *Reader) readKind(ctx context.Context, k *kind) (found map[string]bool, err error) {
	if err := k.ReadEvents(ctx, r.cluster, k.served, r.Namespace); err != nil {
		r.problem(eventsForbidden, k, "%s has no status.conditions, and its Events cannot be read: %s", k.gk, err)
	}
	found = map[string]bool{}
	err = cluster.ForEach(ctx, r.cluster.Resource(k.served, r.Namespace), k.options(), func(u *unstructured.Unstructured) {
		if k.counts(u) {
			found[u.GetName()] = true
			r.add(k, u)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && r.Namespace == "" && len(k.targets) == 0 && len(k.rules) > 0 {
		what := "there is no " + k.gk.String()
		if k.bundles {
			what = "there is no ConfigMap with the state of the bundle: reconcel has not run the rule yet"
		}
		r.problem(noResources, k, "%s: %s", quotedRules(k.rules), what)
	}
	return found, nil
}

func quotedRules(names []string) string {
	word := "rule"
	if len(names) > 1 {
		word = "rules"
	}
	return fmt.Sprintf("%s \"%s\"", word, strings.Join(names, `", "`))
}

// add counts a resource, and lists it if requested.
func (r *Reader) add(k *kind, u *unstructured.Unstructured) {
	s := k.Resource(u)
	r.Summary.Resources++
	r.Summary.States[s.State]++
	if r.lists(s.State) || r.NamedInAnyState && k.isTarget(s.Name) {
		r.Resources = append(r.Resources, s)
	}
	if mistake := rules.PauseMistake(u.Object); mistake != "" {
		r.problem(pauseIgnored, k, "%s: %s", path.Join(s.Namespace, refOf(&s)), mistake)
	}
}

// lists reports whether resources in a state are listed.
func (r *Reader) lists(s rendered.State) bool { return slices.Contains(r.States, s) }

// readLeaders reads the leader of each installation.
func (r *Reader) readLeaders(ctx context.Context, installations []inventory.Stored) {
	for _, i := range installations {
		l := r.leader(ctx, i.Namespace, i.Installation)
		r.Leaders = append(r.Leaders, l)
		if l.State == expired || l.State == released {
			r.problem(noLeader, nil, "%s/%s: %s", l.Namespace, l.Name, l.Message)
		}
	}
}
