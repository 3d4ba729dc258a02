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

// Each kind of request has a client of its own, so that a rule cannot write with
// the wrong identity by mistake. All reads go through resource, writes of rules go
// through writer, and the engine's own writes (status, finalizers) through own.

// A readOnly client reads objects of one kind.
type readOnly interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error)
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// writeTimeout bounds one request. It limits how long a request blocks a worker,
// and how long a write can outlive its process.
const writeTimeout = 10 * time.Second

// resource returns a client that reads one kind in a namespace.
func (e *Engine) resource(k Kind, namespace string) readOnly { return e.own(k, namespace) }

// own returns the client for the engine's own writes.
func (e *Engine) own(k Kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return e.client.Resource(k.GVR)
	}
	return e.client.Resource(k.GVR).Namespace(namespace)
}

// A writer writes objects of one kind for a rule, with the rule's ServiceAccount if
// it has one. It counts what the API server accepts. Its errors do not quote Secrets.
type writer struct {
	client    dynamic.ResourceInterface
	sender    watch.Sender
	metrics   *metrics
	kind      Kind
	namespace string
	rule      *rules.Rule
	home      string // namespace of the primary
}

func (e *Engine) writer(rule *rules.Rule, primary Request, k Kind, namespace string) writer {
	return writer{
		client: e.own(k, namespace), sender: e.sender, metrics: e.metrics, kind: k, namespace: namespace, rule: rule, home: primary.Namespace,
	}
}

// apply creates or changes an object by a forced server-side apply. It is counted
// with the verb. It returns the answer as the watch caches it, and nil without a watch.
func (w writer) apply(ctx context.Context, as *watch.Watch, verb, name string, body []byte, manager string) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	o, err := w.sender.Send(ctx, as, watch.Patch{
		Kind: w.kind, Namespace: w.namespace, Name: name, Type: types.ApplyPatchType, Body: body, Manager: manager, Force: true,
	})
	if err == nil {
		w.metrics.wrote(verb, w.kind)
	}
	return o, w.explain(account, err)
}

// merge changes an object by a merge patch. It returns the answer as the watch caches it, and
// nil without a watch.
func (w writer) merge(ctx context.Context, as *watch.Watch, name string, body []byte) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	o, err := w.sender.Send(ctx, as, watch.Patch{
		Kind: w.kind, Namespace: w.namespace, Name: name, Type: types.MergePatchType, Body: body, Manager: managedfields.Manager,
	})
	if err == nil {
		w.metrics.wrote("patch", w.kind)
	}
	return o, w.explain(account, err)
}

func (w writer) edit(ctx context.Context, name string, patch []byte, manager string) (*unstructured.Unstructured, error) {
	u, err := w.patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: manager})
	if err == nil {
		w.metrics.wrote("patch", w.kind)
	}
	return u, err
}

func (w writer) patch(ctx context.Context, name string, how types.PatchType, body []byte, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	u, err := w.client.Patch(ctx, name, how, body, options)
	return u, w.explain(account, err)
}

func (w writer) delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	ctx, account, err := w.as(ctx)
	if err != nil {
		return err
	}
	err = w.client.Delete(ctx, name, options)
	if err == nil {
		w.metrics.wrote("delete", w.kind)
	}
	return w.explain(account, err)
}

// as returns a context that impersonates the rule's account. The account is nil if
// the rule has none.
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

// explain names the impersonated account in an API server's answer.
func (w writer) explain(account *rules.Account, err error) error {
	answer := WithholdSecret(w.kind.GVK.GroupKind(), err)
	if account == nil || !apierrors.IsForbidden(err) {
		return answer
	}
	// Up to Kubernetes 1.35 the message is about the ServiceAccount, from 1.36 on about
	// the object. Only the verb, impersonate or impersonate-on:serviceaccount:patch, is
	// common to both, and no field of the status has it.
	if strings.Contains(err.Error(), " cannot impersonate") {
		return &explainedError{fmt.Sprintf("may not impersonate ServiceAccount %s; apply what `reconcel rbac` prints", account), answer}
	}
	if strings.Contains(answer.Error(), account.User()) {
		return answer
	}
	return fmt.Errorf("as ServiceAccount %s: %w", account, answer)
}

// apply sends one body and remembers the response.
func (p *pass) apply(ctx context.Context, k Kind, d *rules.Desired, w *written, body []byte) error {
	id := d.Identity
	writer := p.engine.writer(d.Child.Rule, p.req, k, id.Namespace)
	began := p.engine.clock.Now()
	o, err := writer.apply(ctx, p.primary.children[id.GVK], "apply", id.Name, body, managedfields.Manager)
	if err != nil {
		return err
	}
	took := p.engine.clock.Now().Sub(began)
	// Take our fields from the response to the apply: a later state may include the
	// changes of another writer.
	applied := o.OwnFields()
	if o.HasOrphanedFields() {
		if o, err = p.releaseOrphanedFields(ctx, writer, id.Name); err != nil {
			return err
		}
	}
	*w = written{identity: id, uid: o.GetUID(), hash: d.Hash, fields: applied, version: o.GetResourceVersion(), took: took, object: o, schema: w.schema, damper: w.damper, dispute: w.dispute}
	return stripped(id.String(), p.lostMarks(d, o))
}

// get reads the object that has a child's name.
func (p *pass) get(ctx context.Context, k Kind, id rules.Identity) (*unstructured.Unstructured, error) {
	return p.getSince(ctx, k, id, "")
}

// getSince reads the object that has a child's name, in a state that is not older than a
// resourceVersion. The API server answers that from memory; without a version it asks etcd.
func (p *pass) getSince(ctx context.Context, k Kind, id rules.Identity, version string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	u, err := p.engine.resource(k, id.Namespace).Get(ctx, id.Name, metav1.GetOptions{ResourceVersion: version})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id.String(), err)
	}
	return u, nil
}
