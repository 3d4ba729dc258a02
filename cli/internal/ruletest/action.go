package ruletest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// An action is an event in a test to which the controller reacts.
type action interface {
	// do runs the action. Its error has the action's position in the file.
	do(ctx context.Context, p *player) error
}

// someone is the field manager of all actions in tests.
const someone = "someone"

// complaintAt returns an error with a position in the file.
func complaintAt(pos source.Pos, format string, args ...any) error {
	return source.NewError(pos, "", fmt.Sprintf(format, args...), "")
}

// verbs are the keys that identify an action.
var verbs = []string{"apply", "patch", "delete", "ready", "advance", "fail", "restart", "rules"}

// action reads an entry of `when`. It returns nil after a complaint.
func (r *reader) action(n *source.Node) action {
	given := slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool { return n.At(verb) == nil })
	switch len(given) {
	case 0:
		r.complain(n.Pos, "write one of "+strings.Join(verbs, ", "), "nothing is done")
		return nil
	case 1:
	default:
		r.complain(n.Pos, "write a list: - "+given[0]+": …", "%s are more than one action", strings.Join(given, " and "))
		return nil
	}
	value := n.At(given[0])
	if given[0] == "patch" {
		return r.patch(n, value)
	}
	for _, key := range []string{"merge", "json", "subresource"} {
		if wrong := n.At(key); wrong != nil {
			r.complain(wrong.Pos, "", "%s belongs to patch", key)
		}
	}
	switch given[0] {
	case "apply":
		return apply{r.newObjects(value)}
	case "delete":
		return remove{r.references(value)}
	case "ready":
		return ready{r.references(value)}
	}
	return r.control(given[0], value)
}

// An apply applies or creates objects.
type apply struct{ manifests []*manifest }

func (a apply) do(ctx context.Context, p *player) error {
	for _, m := range a.manifests {
		for _, u := range m.objects {
			resource := p.resource(p.suite.setting.Kinds.Kind(u.GroupVersionKind()), u.GetNamespace())
			var err error
			if u.GetName() == "" {
				_, err = resource.Create(ctx, u, metav1.CreateOptions{FieldManager: someone})
			} else {
				_, err = resource.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: someone, Force: true})
			}
			if err != nil {
				return complaintAt(m.pos, "apply %s: %v", titleOf(u), err)
			}
		}
	}
	return nil
}

// A patch patches objects or their subresource.
type patch struct {
	objects      *reference
	subresources []string // status, scale or none
	kind         types.PatchType
	body         any
}

func (r *reader) patch(n, named *source.Node) action {
	a := patch{objects: r.reference(named)}
	if a.objects.name == "" {
		r.complain(named.Pos, "write Kind/name", "patch: %q names no object", named.Literal().Value)
	}
	if subresource := literalAt(n, "subresource"); subresource != "" {
		a.subresources = []string{subresource}
	}
	merge, operations := n.At("merge"), n.At("json")
	switch {
	case merge != nil && operations != nil:
		r.complain(operations.Pos, "", "patch: merge and json are two patches")
	case merge != nil:
		fields := merge.Plain().(map[string]any)
		a.kind, a.body = types.MergePatchType, fields
		if of := a.objects.of; of != nil {
			r.checkFields(named.Pos, a.objects.kind, of, fields)
			if _, status := fields["status"]; status && of.Status && a.subresources == nil {
				r.ignoredStatus(merge.Pos, a.objects)
			}
		}
	case operations != nil:
		a.kind, a.body = types.JSONPatchType, operations.Plain()
		if of := a.objects.of; of != nil && of.Status && a.subresources == nil && slices.ContainsFunc(operations.Items,
			func(o *source.Node) bool { return strings.HasPrefix(literalAt(o, "path")+"/", "/status/") }) {
			r.ignoredStatus(operations.Pos, a.objects)
		}
	default:
		r.complain(named.Pos, "add merge: or json:", "patch: the change is missing")
	}
	return a
}

func (r *reader) ignoredStatus(pos source.Pos, of *reference) {
	r.complain(pos, "add subresource: status", "patch: the API server ignores the status in a patch of %s itself", of.kind)
}

func (a patch) do(ctx context.Context, p *player) error {
	body, err := json.Marshal(a.body)
	if err != nil {
		return err
	}
	return p.each(ctx, "patch %s: %v", []*reference{a.objects}, func(of *schema.Kind, u *unstructured.Unstructured) error {
		_, err := p.resource(of, u.GetNamespace()).Patch(ctx, u.GetName(), a.kind, body,
			metav1.PatchOptions{FieldManager: someone}, a.subresources...)
		return err
	})
}

// A remove deletes objects.
type remove struct{ objects []*reference }

func (a remove) do(ctx context.Context, p *player) error {
	return p.each(ctx, "delete %s: %v", a.objects, func(of *schema.Kind, u *unstructured.Unstructured) error {
		return p.delete(ctx, of, u)
	})
}

// delete deletes an object as kubectl does. Without a policy, the API server orphans what a Job or a
// ReplicationController owns. An object with the finalizer of a policy is deleted by that one: a test has no other way
// to say --cascade=orphan.
func (p *player) delete(ctx context.Context, of *schema.Kind, u *unstructured.Unstructured) error {
	policy := metav1.DeletePropagationBackground
	switch finalizers := u.GetFinalizers(); {
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	return p.resource(of, u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
}

// A ready marks objects as ready.
type ready struct{ objects []*reference }

func (a ready) do(ctx context.Context, p *player) error {
	return p.each(ctx, "mark %s ready: %v", a.objects, func(of *schema.Kind, u *unstructured.Unstructured) error {
		return p.place.MarkReady(ctx, of, u.GetNamespace(), u.GetName())
	})
}

// resource returns the client for an object's kind, in its namespace.
func (p *player) resource(kind *schema.Kind, namespace string) dynamic.ResourceInterface {
	resource := p.place.Client().Resource(kind.GVK.GroupVersion().WithResource(kind.Resource))
	if kind.Namespaced {
		return resource.Namespace(namespace)
	}
	return resource
}

// each calls do for every object that the references match. The format is that of its
// error, for the object and the cause.
func (p *player) each(ctx context.Context, format string, refs []*reference,
	do func(*schema.Kind, *unstructured.Unstructured) error) error {
	for _, ref := range refs {
		found, err := p.find(ctx, ref)
		if err != nil {
			return err
		}
		for _, u := range found {
			if err := do(ref.of, u); err != nil {
				return complaintAt(ref.pos, format, titleOf(u), err)
			}
		}
	}
	return nil
}

// find returns the objects that a reference matches. It returns an error if there
// is none.
func (p *player) find(ctx context.Context, ref *reference) (found []*unstructured.Unstructured, err error) {
	all, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, u := range all {
		if ref.matches(u) {
			found = append(found, u)
		} else if u.GroupVersionKind().GroupKind() == ref.of.GVK.GroupKind() {
			others = append(others, titleOf(u))
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case ref.name == "":
		return nil, complaintAt(ref.pos, "there is no %s", ref)
	case len(others) == 0:
		return nil, complaintAt(ref.pos, "there is no %s, nor any other %s", ref, ref.kind)
	}
	return nil, complaintAt(ref.pos, "there is no %s; there is %s", ref, strings.Join(others, ", "))
}
