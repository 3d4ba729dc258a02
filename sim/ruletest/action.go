package ruletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

// An Action is an event in a test to which the controller reacts.
type Action interface {
	prepare(p *preparer)
	// do runs the action. Its error has the action's position in the file.
	do(ctx context.Context, p *player) error
}

// someone is the field manager of all actions in tests.
const someone = "someone"

// complaintAt returns an error with a position in the file.
func complaintAt(pos source.Pos, format string, args ...any) error {
	return source.NewError(pos, "", fmt.Sprintf(format, args...), "")
}

// resource returns the client for an object's kind, in its namespace.
func (p *player) resource(kind *schema.Kind, namespace string) dynamic.ResourceInterface {
	r := p.place.Client().Resource(kind.GVK.GroupVersion().WithResource(kind.Resource))
	if kind.Namespaced {
		return r.Namespace(namespace)
	}
	return r
}

func (a apply) prepare(p *preparer) { p.complete(a.manifests) }

func (a apply) do(ctx context.Context, p *player) error {
	for _, m := range a.manifests {
		for _, u := range m.objects {
			r := p.resource(p.suite.setting.Kinds.Kind(u.GroupVersionKind()), u.GetNamespace())
			var err error
			if u.GetName() == "" {
				_, err = r.Create(ctx, u, metav1.CreateOptions{FieldManager: someone})
			} else {
				_, err = r.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: someone, Force: true})
			}
			if err != nil {
				return complaintAt(m.Pos, "apply %s: %v", title(u), err)
			}
		}
	}
	return nil
}

func (a patch) prepare(p *preparer) {
	p.reference(a.object)
	if merge, ok := a.body.(map[string]any); ok && a.object.of != nil {
		p.fields(a.pos, a.object.Kind, a.object.of, merge)
	}
}

func (a patch) do(ctx context.Context, p *player) error {
	found, err := p.find(ctx, a.object)
	if err != nil {
		return err
	}
	body, err := json.Marshal(a.body)
	if err != nil {
		return err
	}
	kind := types.MergePatchType
	if a.kind == "json" {
		kind = types.JSONPatchType
	}
	var subresources []string
	if a.subresource != "" {
		subresources = []string{a.subresource}
	}
	for _, u := range found {
		options := metav1.PatchOptions{FieldManager: someone}
		if _, err := p.resource(a.object.of, u.GetNamespace()).Patch(ctx, u.GetName(), kind, body, options, subresources...); err != nil {
			return complaintAt(a.pos, "patch %s: %v", title(u), err)
		}
	}
	return nil
}

func (a remove) prepare(p *preparer) { p.references(a.objects) }

func (a remove) do(ctx context.Context, p *player) error {
	return p.each(ctx, a.objects, func(r *Reference, u *unstructured.Unstructured) error {
		err := p.resource(r.of, u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{})
		if err != nil {
			return complaintAt(r.Pos, "delete %s: %v", title(u), err)
		}
		return nil
	})
}

func (a ready) prepare(p *preparer) { p.references(a.objects) }

func (a ready) do(ctx context.Context, p *player) error {
	return p.each(ctx, a.objects, func(r *Reference, u *unstructured.Unstructured) error {
		if err := p.place.MarkReady(ctx, r.of, u.GetNamespace(), u.GetName()); err != nil {
			return complaintAt(r.Pos, "mark %s ready: %v", title(u), err)
		}
		return nil
	})
}

// each calls do for every object that the references match.
func (p *player) each(ctx context.Context, refs []*Reference, do func(*Reference, *unstructured.Unstructured) error) error {
	for _, r := range refs {
		found, err := p.find(ctx, r)
		if err != nil {
			return err
		}
		for _, u := range found {
			if err := do(r, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the objects that a reference matches. It returns an error if there
// is none.
func (p *player) find(ctx context.Context, r *Reference) ([]*unstructured.Unstructured, error) {
	all, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(u *unstructured.Unstructured) bool { return !r.means(u) })
	if len(found) == 0 {
		return nil, complaintAt(r.Pos, "there is no %s%s", r, others(all, r))
	}
	return found, nil
}

// others returns the end of an error message about a missing object: the existing
// objects of the same kind.
func others(all []*unstructured.Unstructured, r *Reference) string {
	var there []string
	for _, u := range all {
		if u.GroupVersionKind().GroupKind() == r.of.GVK.GroupKind() {
			there = append(there, title(u))
		}
	}
	switch {
	case r.Name == "":
		return ""
	case len(there) == 0:
		return ", nor any other " + r.Kind
	}
	return "; there is " + strings.Join(there, ", ")
}

func (a advance) prepare(*preparer) {}

func (a advance) do(ctx context.Context, p *player) error {
	m, err := p.memory(a.pos, "advance")
	if err != nil {
		return err
	}
	if err := m.Advance(ctx, a.by); err != nil {
		return complaintAt(a.pos, "advance %s: %v", a.by, err)
	}
	return nil
}

func (a restart) prepare(*preparer) {}

func (a restart) do(ctx context.Context, p *player) error {
	m, err := p.memory(a.pos, "restart")
	if err != nil {
		return err
	}
	if err := m.Restart(ctx); err != nil {
		return complaintAt(a.pos, "restart: %v", err)
	}
	return nil
}

func (a *reload) prepare(p *preparer) {
	var paths []string
	for _, path := range a.paths {
		paths = append(paths, p.file.path(path.Value))
	}
	program, err := p.setting.Load(paths)
	if err != nil {
		p.complain(a.pos, "", "rules: %v", err)
		return
	}
	a.program = program
	p.programs = append(p.programs, program)
}

func (a *reload) do(ctx context.Context, p *player) error {
	m, err := p.memory(a.pos, "rules")
	if err != nil {
		return err
	}
	p.programs = append(p.programs, a.program)
	if err := m.Reload(ctx, a.program); err != nil {
		return complaintAt(a.pos, "rules: %v", err)
	}
	return nil
}

func (a fail) prepare(p *preparer) {
	if a.kind != nil {
		p.reference(a.kind)
	}
}

func (a fail) do(_ context.Context, p *player) error {
	m, err := p.memory(a.pos, "fail")
	if err != nil {
		return err
	}
	f := sim.Failure{
		Verb: a.verb, Namespace: a.namespace, Name: a.name, Subresource: a.subresource,
		Times: a.times, Err: a.err(), Lost: a.lost == lost,
	}
	if a.kind != nil {
		f.Kind = a.kind.of.GVK.GroupKind()
	}
	m.Fail(f)
	p.failures = append(p.failures, a)
	return nil
}

// codes are the HTTP status codes of reasons. ConnectionLost has none.
var codes = map[string]int32{
	"Forbidden": http.StatusForbidden, "NotFound": http.StatusNotFound, "AlreadyExists": http.StatusConflict, "Conflict": http.StatusConflict,
	"Invalid": http.StatusUnprocessableEntity, "TooManyRequests": http.StatusTooManyRequests, "InternalError": http.StatusInternalServerError,
	"ServiceUnavailable": http.StatusServiceUnavailable, "Timeout": http.StatusGatewayTimeout,
}

// err returns the error of the failing request.
func (a fail) err() error {
	message := a.message
	if message == "" {
		message = "the test makes this request fail"
	}
	if a.reason == "ConnectionLost" {
		return errors.New(message)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: codes[a.reason], Reason: metav1.StatusReason(a.reason), Message: message,
	}}
}

// String returns the failure as in messages.
func (a fail) String() string {
	var words []string
	for _, word := range []string{a.verb, a.namespace, a.name} {
		if word != "" {
			words = append(words, word)
		}
	}
	if a.kind != nil {
		words = append(words, a.kind.Kind)
	}
	if a.subresource != "" {
		words = append(words, a.subresource)
	}
	return strings.Join(append(words, a.reason), " ")
}
