package engine

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
	said := discreet(w.kind.GVK.GroupKind(), err)
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

// accountKey is under what a context holds the rules.Account as which requests
// are made.
type accountKey struct{}

// impersonating makes clients of a configuration act as the account that a
// request's context holds. All accounts share the connections of the client.
func impersonating(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return asAccount{next} })
	return config
}

// asAccount is a way to the API server on which requests are made as the account
// in their context.
type asAccount struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. It names no groups: the API server then
// gives an account those that it has (system:serviceaccounts, that of its namespace,
// system:authenticated), and asks for no permission to act as a group.
func (a asAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	value := r.Context().Value(accountKey{})
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

// impersonates returns an error if a request is made as somebody else already.
// To put an account in their place would be to act with rights that they do not
// have.
func impersonates(header http.Header) error {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return fmt.Errorf("the client configuration already impersonates %q, so serviceAccountName cannot be used",
				header.Get(transport.ImpersonateUserHeader))
		}
	}
	return nil
}

// WrappedRoundTripper lets client-go see what is below.
func (a asAccount) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }
