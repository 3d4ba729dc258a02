package dryrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Guard returns a transport that sends only reads and dry runs, whatever the
// clients above it do.
func Guard(next http.RoundTripper) http.RoundTripper { return guard{next} }

type guard struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	r, dry, err := dryRun(r)
	if err == nil && !dry && r.Method != http.MethodGet && r.Method != http.MethodHead {
		err = fmt.Errorf("%s %s is not sent: it is not a dry run", r.Method, r.URL.Path)
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return g.RoundTripper.RoundTrip(r)
}

// dryRun reports whether a request is a dry run. A deletion has the option in its
// body, and the API server then ignores the query. dryRun adds it to the query too,
// so that audit logs show it.
func dryRun(r *http.Request) (*http.Request, bool, error) {
	query := r.URL.Query()
	if r.Method != http.MethodDelete {
		return r, slices.Equal(query["dryRun"], all), nil
	}
	if r.Body == nil {
		return r, false, nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	var options metav1.DeleteOptions
	if err != nil || json.Unmarshal(body, &options) != nil || !slices.Equal(options.DryRun, all) {
		return r, false, err
	}
	r = r.Clone(r.Context())
	query["dryRun"] = all
	r.URL.RawQuery = query.Encode()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, true, nil
}

// WrappedRoundTripper lets client-go reach the transport below.
func (g guard) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }
