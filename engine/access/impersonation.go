package access

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"reconcel/rules"
)

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
