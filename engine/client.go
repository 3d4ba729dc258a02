package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Three clients, so that what is written for a rule cannot be written as somebody
// else by mistake: everybody reads by resource, rules write by writer, and what
// is the engine's own (status, finalizers) is written by own.

// A readOnly client reads objects of one kind.
type readOnly interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error)
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// A deleter deletes objects of one kind.
type deleter interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error
}

// writeTimeout bounds one request, so that a worker is never held up for
// longer, and so that no write of a process outlives it by more.
const writeTimeout = 10 * time.Second

// resource returns what reads one kind in a namespace.
func (e *Engine) resource(k Kind, namespace string) readOnly { return e.own(k, namespace) }

// own returns the client for what the engine writes on its own account.
func (e *Engine) own(k Kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return e.client.Resource(k.GVR)
	}
	return e.client.Resource(k.GVR).Namespace(namespace)
}

// A writer writes objects of one kind for a rule, as the ServiceAccount of the
// rule if it has one. What its errors say of a Secret is fit to be told.
type writer struct {
	client dynamic.ResourceInterface
	kind   Kind
	rule   *rules.Rule
	home   string // namespace of the primary
}

// writer returns what writes one kind in a namespace for a rule and a primary.
func (e *Engine) writer(rule *rules.Rule, primary Request, k Kind, namespace string) writer {
	return writer{client: e.own(k, namespace), kind: k, rule: rule, home: primary.Namespace}
}

// Patch changes an object, or makes it by an apply.
func (w writer) Patch(ctx context.Context, name string, how types.PatchType, body []byte, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	u, err := w.client.Patch(ctx, name, how, body, options)
	return u, w.explain(account, err)
}

// Delete deletes an object.
func (w writer) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	ctx, account, err := w.as(ctx)
	if err != nil {
		return err
	}
	return w.explain(account, w.client.Delete(ctx, name, options, subresources...))
}

// as returns a context in which requests are made as the account of the rule; the
// account is nil if it has none.
func (w writer) as(ctx context.Context) (context.Context, *rules.Account, error) {
	if w.rule.Account == nil {
		return ctx, nil, nil
	}
	account, err := w.rule.Account.In(w.home)
	if err != nil {
		return ctx, nil, &terminalError{string(rules.RuleError), 0, err}
	}
	return context.WithValue(ctx, accountKey{}, account), &account, nil
}

// explain says what an answer of the API server has to do with an account.
func (w writer) explain(account *rules.Account, err error) error {
	said := withholdSecret(w.kind.GVK.GroupKind(), err)
	if account == nil || !apierrors.IsForbidden(err) {
		return said
	}
	// Up to Kubernetes 1.35 this is about the ServiceAccount, from 1.36 on about the
	// object. Only the verb, impersonate or impersonate-on:serviceaccount:patch, is
	// the same in both, and no field has it.
	if strings.Contains(err.Error(), " cannot impersonate") {
		return fmt.Errorf("may not impersonate ServiceAccount %s; apply what `reconcel rbac` prints (%w)", account, said)
	}
	if strings.Contains(said.Error(), account.User()) {
		return said
	}
	return fmt.Errorf("as ServiceAccount %s: %w", account, said)
}

// apply sends one body and remembers the response.
func (p *pass) apply(ctx context.Context, k Kind, d *rules.Desired, w *written, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	force := true
	id := d.Identity
	writer := p.engine.writer(d.Child.Rule, p.req, k, id.Namespace)
	response, err := writer.Patch(ctx, id.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: managedfields.Manager, Force: &force})
	if err != nil {
		return err
	}
	p.engine.metrics.writes.WithLabelValues("apply", id.GVK.Kind).Inc()
	// What is ours is read off the answer to the apply: a later state may show
	// somebody else's change.
	applied := managedfields.ChildEntry(response.Object)
	if response, err = p.releaseOrphanedFields(ctx, writer, response); err != nil {
		return err
	}
	o := watch.NewObject(response, watch.Child)
	*w = written{identity: id, uid: o.GetUID(), hash: d.Hash, fields: applied, version: o.GetResourceVersion(), object: o, conflictLoop: w.conflictLoop, churn: w.churn}
	return nil
}

// get reads the object under a child's name.
func (p *pass) get(ctx context.Context, k Kind, id rules.Identity) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	u, err := p.engine.resource(k, id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id.String(), err)
	}
	return u, nil
}
