package access

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Writer writes objects of one kind for a rule, with the rule's ServiceAccount if
// it has one. It counts what the API server accepts. Its errors do not quote Secrets.
type Writer struct {
	client    dynamic.ResourceInterface
	sender    watch.Sender
	metrics   *plan.Metrics
	Kind      ident.Kind
	Namespace string
	rule      *rules.Rule
	home      string // namespace of the primary
}

// Apply creates or changes an object by a forced server-side apply. It is counted
// with the verb. It returns the answer as the watch caches it, and nil without a watch.
func (w Writer) Apply(ctx context.Context, as *watch.Watch, verb, name string, body []byte,
	manager string) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	o, err := w.sender.Send(ctx, as, watch.Patch{
		Kind: w.Kind, Namespace: w.Namespace, Name: name, Type: types.ApplyPatchType, Body: body, Manager: manager,
		Force: true,
	})
	if err == nil {
		w.metrics.Wrote(verb, w.Kind)
	}
	return o, w.Explain(account, err)
}

// Merge changes an object by a merge patch. It returns the answer as the watch caches it, and
// nil without a watch.
func (w Writer) Merge(ctx context.Context, as *watch.Watch, name string, body []byte) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	o, err := w.sender.Send(ctx, as, watch.Patch{
		Kind: w.Kind, Namespace: w.Namespace, Name: name, Type: types.MergePatchType, Body: body,
		Manager: managedfields.Manager,
	})
	if err == nil {
		w.metrics.Wrote("patch", w.Kind)
	}
	return o, w.Explain(account, err)
}

// Edit changes an object, or a subresource of it, by a JSON Patch.
func (w Writer) Edit(ctx context.Context, name string, patch []byte,
	by managedfields.Applier) (*unstructured.Unstructured, error) {
	var subresources []string
	if by.Subresource != "" {
		subresources = append(subresources, by.Subresource)
	}
	u, err := w.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: by.Name}, subresources...)
	if err == nil {
		w.metrics.Wrote("patch", w.Kind)
	}
	return u, err
}

// Patch sends a patch, as the ServiceAccount of the rule if it has one.
func (w Writer) Patch(ctx context.Context, name string, how types.PatchType, body []byte,
	options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	ctx, account, err := w.as(ctx)
	if err != nil {
		return nil, err
	}
	u, err := w.client.Patch(ctx, name, how, body, options, subresources...)
	return u, w.Explain(account, err)
}

func (w Writer) delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	ctx, account, err := w.as(ctx)
	if err != nil {
		return err
	}
	err = w.client.Delete(ctx, name, options)
	if err == nil {
		w.metrics.Wrote("delete", w.Kind)
	}
	return w.Explain(account, err)
}

// as returns a context that impersonates the rule's account. The account is nil if
// the rule has none.
func (w Writer) as(ctx context.Context) (context.Context, *rules.Account, error) {
	if w.rule.Account == nil {
		return ctx, nil, nil
	}
	account, err := w.rule.Account.In(w.home)
	if err != nil {
		return ctx, nil, &outcome.TerminalError{Reason: string(rules.RuleError), Retry: 0, Err: err}
	}
	return context.WithValue(ctx, AccountKey{}, account), &account, nil
}

// Explain names the impersonated account in an API server's answer.
func (w Writer) Explain(account *rules.Account, err error) error {
	answer := outcome.WithholdSecret(w.Kind.GVK.GroupKind(), err)
	if account == nil || !apierrors.IsForbidden(err) {
		return answer
	}
	// Up to Kubernetes 1.35 the message is about the ServiceAccount, from 1.36 on about
	// the object. Only the verb, impersonate or impersonate-on:serviceaccount:patch, is
	// common to both, and no field of the status has it.
	if strings.Contains(err.Error(), " cannot impersonate") {
		return &outcome.ExplainedError{Cause: fmt.Sprintf(
			"may not impersonate ServiceAccount %s; apply what `reconcel rbac` prints", account), Err: answer}
	}
	if strings.Contains(answer.Error(), account.User()) {
		return answer
	}
	return fmt.Errorf("as ServiceAccount %s: %w", account, answer)
}

// Each kind of request has a client of its own, so that a rule cannot write with
// the wrong identity by mistake. All reads go through resource, writes of rules go
// through writer, and the engine's own writes (status, finalizers) through own.

// A ReadOnly client reads objects of one kind.
type ReadOnly interface {
	Get(ctx context.Context, name string, options metav1.GetOptions,
		subresources ...string) (*unstructured.Unstructured, error)
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// Writer returns the client for the writes of a rule to objects of a kind.
func (c *Cluster) Writer(rule *rules.Rule, primary ident.Request, k ident.Kind, namespace string) Writer {
	return Writer{
		client: c.own(k, namespace), sender: c.Sender, metrics: c.Metrics, Kind: k, Namespace: namespace, rule: rule,
		home: primary.Namespace,
	}
}

// PatchPrimary applies a patch to a primary. It returns the answer as the watch
// caches it, and nil without a watch.
func (c *Cluster) PatchPrimary(ctx context.Context, as *watch.Watch, k ident.Kind, o *watch.Object, by plan.Patcher,
	desired map[string]any) (*watch.Object, error) {
	u := decide.ApplicationTo(k, o, desired)
	u.SetUID(o.GetUID()) // Prevents the apply from creating a deleted primary again.
	body, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	writer := c.Writer(by.Rule, ident.Request{Namespace: o.GetNamespace()}, k, o.GetNamespace())
	response, err := writer.Apply(ctx, as, "patch", o.GetName(), body, by.Manager)
	if apierrors.IsConflict(err) || answer.IsAbsent(err) {
		return nil, decide.ErrStale // The primary was deleted or replaced.
	}
	return response, outcome.ClassifyAnswer(err)
}

// RevertPatch reverts a removed rule's patch of a primary without a
// reconciliation of that primary.
func (c *Cluster) RevertPatch(ctx context.Context, k ident.Kind, o *watch.Object, rule *rules.Rule) error {
	_, err := c.PatchPrimary(ctx, nil, k, o, plan.PatcherOf(rule), map[string]any{})
	if err == nil {
		c.Log.Info("reverted the patch of a removed rule", "object", ident.SubjectOf(k, o), "rule", rule.Name)
	}
	return err
}

// AccountKey is the context key of the rules.Account that requests impersonate.
type AccountKey struct{}

// Impersonating makes clients of a configuration impersonate the account in a
// request's context. All accounts share the connections of the client.
func Impersonating(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return asAccount{next} })
	return config
}

// asAccount is a transport that impersonates the account in a request's context.
type asAccount struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. It sets no groups: the API server then adds
// the account's own (system:serviceaccounts, that of its namespace,
// system:authenticated), and checks no permission to impersonate a group.
func (a asAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	value := r.Context().Value(AccountKey{})
	if value == nil {
		return a.RoundTripper.RoundTrip(r)
	}
	account, _ := value.(rules.Account)
	account, err := account.In("")
	if err == nil {
		err = impersonates(r.Header)
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set(transport.ImpersonateUserHeader, account.User())
	return a.RoundTripper.RoundTrip(r)
}

// impersonates returns an error if a request already impersonates another user.
// Replacing that user would use permissions that the user does not have.
func impersonates(header http.Header) error {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return fmt.Errorf("the client configuration already impersonates %q, so serviceAccountName cannot be used",
				header.Get(transport.ImpersonateUserHeader))
		}
	}
	return nil
}

// WrappedRoundTripper exposes the wrapped transport to client-go.
func (a asAccount) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }
