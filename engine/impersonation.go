package engine

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"reconcel/rules"
)

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
