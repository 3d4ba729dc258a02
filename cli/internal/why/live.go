package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/diff"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Reader reads the subjects of questions from a cluster.
type Reader struct {
	change.Source
	// Installation and Home are as in diff.Options.
	Installation, Home string

	lists   *cluster.Lists
	unknown error // why a kind that the object may be of, or belong to, is not known
}

// Ask answers a question about an object of the cluster, or one that the rules want there. It may be a primary, a
// child, or both.
func (r *Reader) Ask(ctx context.Context, q Question) (*Answer, error) {
	r.lists = cluster.NewLists(r.Cluster)
	primary, k, err := r.Cluster.Primary(ctx, r.Rules.Program, q.Target)
	if !r.tolerate(err) {
		return nil, err
	}
	var own *Subject
	if k != nil {
		self, err := cluster.Get(ctx, r.Cluster.Resource(k, q.Namespace), q.Target.Name)
		if err != nil {
			return nil, err
		}
		if self != nil {
			if own, err = r.subject(ctx, primary, self); err != nil {
				return nil, err
			}
		}
	}
	answer, err := r.ask(ctx, own, q)
	if answer != nil {
		answer.Sources = r.Rules.Sources
	}
	if _, absent := errors.AsType[*UnknownError](err); absent && own == nil {
		switch {
		case r.unknown != nil:
			return nil, fmt.Errorf("%s: %w", q.Target.Text, r.unknown)
		case k != nil:
			return nil, cluster.NotFound(k, q.Namespace, q.Target)
		}
	}
	return answer, err
}

// tolerate reports whether the search may go on after an error: a kind that is unavailable says
// nothing about the others.
func (r *Reader) tolerate(err error) bool {
	if discover.IsUnavailable(err) {
		r.unknown = cmp.Or(r.unknown, err)
		return true
	}
	return err == nil
}

// ask answers a question about an object that may be a primary, whose subject is then given, and a child. Its marks
// name the resources that it belongs to. If these do not render it, or it does not exist, all resources of its rules
// may want it.
func (r *Reader) ask(ctx context.Context, own *Subject, q Question) (*Answer, error) {
	kinds, known := map[*rules.Primary]*discover.Kind{}, map[schema.GroupVersionKind]bool{}
	for _, primary := range r.Rules.Program.Primaries() {
		child, err := r.childKind(ctx, primary, q.Target)
		if err != nil {
			return nil, err
		}
		if child != nil {
			kinds[primary], known[child.GVK] = child, true
		}
	}
	if len(kinds) == 0 && own == nil {
		return nil, &UnknownError{q.Target.Text + ": no rule is for that kind, and no rule renders it"}
	}
	isOf := func(id rules.Identity) bool { return known[id.GVK] || own != nil && id == own.Self }
	subjects, err := r.subjects(ctx, kinds, q, r.owners)
	if err == nil && !rendersAny(subjects, q, isOf) {
		subjects, err = r.subjects(ctx, kinds, q, r.all)
	}
	if err != nil {
		return nil, err
	}
	if own != nil {
		subjects = slices.DeleteFunc(subjects, func(s *Subject) bool { return s.Self == own.Self })
		subjects = append(subjects, own)
	}
	return Ask(subjects, q, isOf)
}

// candidates find the resources of a primary that may want a child.
type candidates func(ctx context.Context, primary *rules.Primary, child *discover.Kind,
	q Question) ([]*unstructured.Unstructured, error)

// subjects renders the candidates for children of some kinds.
func (r *Reader) subjects(ctx context.Context, kinds map[*rules.Primary]*discover.Kind, q Question,
	find candidates) (all []*Subject, err error) {
	for _, primary := range r.Rules.Program.Primaries() {
		if kinds[primary] == nil {
			continue
		}
		found, err := find(ctx, primary, kinds[primary], q)
		if err != nil {
			return nil, err
		}
		for _, self := range found {
			s, err := r.subject(ctx, primary, self)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// childKind returns the kind of the children of a primary that a target names, or nil.
func (r *Reader) childKind(ctx context.Context, primary *rules.Primary, t cluster.Target) (*discover.Kind, error) {
	for _, rule := range primary.Rules {
		for _, c := range rule.Children {
			k, err := r.Cluster.Find(ctx, c.GVK)
			if !r.tolerate(err) {
				return nil, err
			}
			if k != nil && t.IsOf(c.GVK, k) {
				return k, nil
			}
		}
	}
	return nil, nil
}

// owners returns the primaries that an object belongs to, by its marks.
func (r *Reader) owners(ctx context.Context, primary *rules.Primary, child *discover.Kind,
	q Question) (all []*unstructured.Unstructured, err error) {
	u, err := cluster.Get(ctx, r.Cluster.Resource(child, q.Namespace), q.Target.Name)
	if err != nil || u == nil {
		return nil, err
	}
	object := watch.NewUntrimmed(u)
	for _, owner := range object.Owners() {
		if owner.Kind != primary.GVK.GroupKind() {
			continue
		}
		k, err := r.primaryKind(ctx, primary)
		if err != nil || k == nil {
			return nil, err
		}
		self, err := cluster.Get(ctx, r.Cluster.Resource(k, owner.Namespace), owner.Name)
		if err != nil {
			return nil, err
		}
		if self == nil && primary.ForCluster() {
			self = rules.NewBundle(owner, object.Rule())
		}
		if self != nil && rules.UIDOf(owner.Kind, self) == owner.UID {
			all = append(all, self)
		}
	}
	return all, nil
}

// primaryKind returns the kind of the resources of a primary, or nil if it is not served or not known.
func (r *Reader) primaryKind(ctx context.Context, primary *rules.Primary) (*discover.Kind, error) {
	gvk := primary.GVK
	if primary.ForCluster() {
		gvk = rules.BundleObject
	}
	k, err := r.Cluster.Find(ctx, gvk)
	if !r.tolerate(err) {
		return nil, err
	}
	return k, nil
}

// all returns all resources of a primary.
func (r *Reader) all(ctx context.Context, primary *rules.Primary, _ *discover.Kind,
	_ Question) (all []*unstructured.Unstructured, err error) {
	k, err := r.primaryKind(ctx, primary)
	if err != nil || k == nil {
		return nil, err
	}
	var options metav1.ListOptions
	if primary.ForCluster() {
		options.LabelSelector = rules.LabelBundle
	}
	err = cluster.ForEach(ctx, r.Cluster.Resource(k, metav1.NamespaceAll), options, func(u *unstructured.Unstructured) {
		if primary.ForCluster() == rules.IsBundle(u) {
			all = append(all, u)
		}
	})
	if err != nil && ctx.Err() == nil {
		r.unknown = cmp.Or(r.unknown, fmt.Errorf("list %s: %w", k.GVR.Resource, err)) // The object may be of other resources.
		all, err = nil, nil
	}
	if primary.ForCluster() {
		all = append(all, missingBundles(primary, all)...)
	}
	return all, err
}

// missingBundles returns the bundles without a ConfigMap, as the first process will create them.
func missingBundles(primary *rules.Primary, existing []*unstructured.Unstructured) (all []*unstructured.Unstructured) {
	for _, rule := range primary.Rules {
		if !slices.ContainsFunc(existing,
			func(u *unstructured.Unstructured) bool { return rules.BundleRule(u.Object) == rule.Name }) {
			all = append(all, rules.NewBundle(rules.BundleOwner("", "reconcel", rule.Name), rule.Name))
		}
	}
	return all
}

// subject renders a primary of the cluster.
func (r *Reader) subject(ctx context.Context, primary *rules.Primary,
	self *unstructured.Unstructured) (*Subject, error) {
	resource, err := rendered.Read(ctx, r.Cluster, r.lists, primary, self)
	if err != nil {
		return nil, err
	}
	s := Render(r.Rules.File, primary, resource.Input(ctx))
	if err := resource.Failed(); err != nil {
		return nil, err
	}
	gvk := self.GroupVersionKind()
	s.Self.GVK = gvk // That of a bundle is the one of its ConfigMap.
	target, _ := cluster.ParseTarget(gvk.Kind + "." + gvk.Group + "/" + self.GetName())
	if gvk.Group == "" {
		target, _ = cluster.ParseTarget(gvk.Kind + "/" + self.GetName())
	}
	compared, err := diff.Compare(ctx, diff.Options{Source: r.Source, Installation: r.Installation, Home: r.Home,
		Namespace: self.GetNamespace(), Selector: labels.Everything(), Targets: []cluster.Target{target},
	})
	if err != nil {
		return nil, err
	}
	s.Live = &Live{Changes: compared.Changes, Broken: compared.Broken}
	s.Find = func(d *rules.Desired) rendered.Finding { return s.Live.compared(d, resource.Find(d)) }
	return s, nil
}
