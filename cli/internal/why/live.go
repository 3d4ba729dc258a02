package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/diff"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// A Reader reads the subjects of questions from a cluster.
type Reader struct {
	Cluster  *cluster.Cluster
	Rules    *rules.Loaded
	Policy   judge.Policy
	Progress *output.Progress

	lists   *cluster.Lists
	unknown error // why a kind that the object may be of, or belong to, is not known
}

// Ask answers a question about an object of the cluster, or one that the rules want there.
func (r *Reader) Ask(ctx context.Context, q Question) (*Answer, error) {
	r.lists = cluster.NewLists(r.Cluster)
	primary, k, err := r.Cluster.Primary(ctx, r.Rules.Program, q.Target)
	if !r.tolerate(err) {
		return nil, err
	}
	if k != nil {
		self, err := r.Cluster.Named(ctx, k, q.Namespace, q.Target)
		if err != nil {
			return nil, err
		}
		s, err := r.subject(ctx, primary, self)
		if err != nil {
			return nil, err
		}
		return Ask([]*Subject{s}, q, func(id rules.Identity) bool { return id == s.Self })
	}
	answer, err := r.askChild(ctx, q)
	if _, absent := errors.AsType[*UnknownError](err); absent && r.unknown != nil {
		return nil, fmt.Errorf("%s: %w", q.Target.Text, r.unknown)
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

// askChild answers a question about a child. Its labels name the rule, and its owner the
// resource. If it does not exist, all resources of its rules may want it.
func (r *Reader) askChild(ctx context.Context, q Question) (*Answer, error) {
	var subjects []*Subject
	kinds := map[rules.Identity]bool{}
	for _, primary := range r.Rules.Program.Primaries() {
		child, err := r.childKind(ctx, primary, q.Target)
		if err != nil {
			return nil, err
		}
		if child == nil {
			continue
		}
		kinds[rules.Identity{GVK: child.GVK}] = true
		found, err := r.owners(ctx, primary, child, q)
		if err != nil {
			return nil, err
		}
		for _, self := range found {
			s, err := r.subject(ctx, primary, self)
			if err != nil {
				return nil, err
			}
			subjects = append(subjects, s)
		}
	}
	if len(kinds) == 0 {
		return nil, &UnknownError{q.Target.Text + ": no rule is for that kind, and no rule renders it"}
	}
	return Ask(subjects, q, func(id rules.Identity) bool { return kinds[rules.Identity{GVK: id.GVK}] })
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

// owners returns the primaries that may have an object: its owner, or else all of them.
func (r *Reader) owners(ctx context.Context, primary *rules.Primary, child *discover.Kind,
	q Question) (all []*unstructured.Unstructured, err error) {
	k, err := r.Cluster.Find(ctx, primary.GVK)
	if k == nil && r.tolerate(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	namespace := q.Namespace
	if !child.Namespaced {
		namespace = ""
	}
	object, err := r.Cluster.Get(ctx, child.GVR, namespace, q.Target.Name)
	if err != nil {
		return nil, err
	}
	if object != nil {
		owner, owned := rules.OwnerOf(object.Object)
		if !owned || owner.Kind != primary.GVK.GroupKind() {
			return nil, nil
		}
		self, err := r.Cluster.Get(ctx, k.GVR, owner.Namespace, owner.Name)
		if self != nil {
			all = append(all, self)
		}
		return all, err
	}
	err = cluster.ForEach(ctx, r.Cluster.Resource(k, metav1.NamespaceAll), metav1.ListOptions{},
		func(u *unstructured.Unstructured) { all = append(all, u) })
	if err != nil && ctx.Err() == nil {
		r.unknown = cmp.Or(r.unknown, fmt.Errorf("list %s: %w", k.GVR.Resource, err)) // The object may be of other resources.
		return nil, nil
	}
	return all, err
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
	target, _ := cluster.ParseTarget(primary.GVK.Kind + "." + primary.GVK.Group + "/" + self.GetName())
	if primary.GVK.Group == "" {
		target, _ = cluster.ParseTarget(primary.GVK.Kind + "/" + self.GetName())
	}
	compared, err := diff.Compare(ctx, diff.Options{
		Source:    change.Source{Rules: r.Rules, Policy: r.Policy, Cluster: r.Cluster, Local: true, Progress: r.Progress},
		Namespace: self.GetNamespace(), Selector: labels.Everything(), Targets: []cluster.Target{target},
	})
	if err != nil {
		return nil, err
	}
	s.Live = &Live{Changes: compared.Changes}
	s.Find = func(d *rules.Desired) rendered.Finding { return s.Live.compared(d, resource.Find(d)) }
	return s, nil
}
