package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"

	"reconcel/engine/discover"
)

// A Patch is a request that changes one object, or creates it.
type Patch struct {
	Kind            discover.Kind
	Namespace, Name string
	Subresource     string // "": the object itself
	Type            types.PatchType
	Body            []byte
	Manager         string
	Force           bool // take over the fields of other managers
}

// patch sends a patch, and returns the answer in an accepted format, one of protobuf.Formats. It
// builds the request itself, because that of client-go takes a quarter of all memory that a write
// allocates. An answer that is not a plain success is left to client-go: it repeats the request if
// the API server asks for it, reports warnings, and makes errors.
func (c *Client) patch(ctx context.Context, p Patch, accept string) (io.ReadCloser, error) {
	to, err := c.url(p)
	if err != nil {
		return nil, err
	}
	header, known := c.headers[headerKey{p.Type, accept}]
	if !known || c.limited {
		return c.conclude(ctx, p, accept, to)
	}
	if limiter := c.GetRateLimiter(); limiter != nil {
		if err := limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("limit of requests: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, "", bytes.NewReader(p.Body))
	if err != nil {
		return nil, err
	}
	r.URL, r.Host, r.Header = to, to.Host, header
	response, err := c.transport.RoundTrip(r)
	if err == nil && response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusMultipleChoices && response.Header["Warning"] == nil {
		metrics.RequestResult.Increment(ctx, strconv.Itoa(response.StatusCode), r.Method, to.Host)
		return response.Body, nil
	}
	return c.conclude(context.WithValue(ctx, firstKey{}, &first{response: response, err: err}), p, accept, to)
}

// conclude sends a patch by client-go, or continues after the first answer.
func (c *Client) conclude(ctx context.Context, p Patch, accept string, to *url.URL) (io.ReadCloser, error) {
	return c.Patch(p.Type).RequestURI(to.RequestURI()).SetHeader("Accept", accept).Body(p.Body).Stream(ctx)
}

// url returns the URL of the request.
func (c *Client) url(p Patch) (*url.URL, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	to := c.base
	to.Path, to.RawPath = strings.TrimSuffix(to.Path, "/")+"/"+strings.Join(path, "/"), ""
	to.RawQuery = p.query()
	return &to, nil
}

// firstKey is the context key of the first answer to a request.
type firstKey struct{}

// first is the first answer to a request that client-go has not sent itself.
type first struct {
	response *http.Response
	err      error
	used     bool
}

// replaying is a transport that returns the first answer in a request's context once, instead
// of sending the request.
type replaying struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t replaying) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, _ := r.Context().Value(firstKey{}).(*first)
	if answer == nil || answer.used {
		return t.RoundTripper.RoundTrip(r)
	}
	answer.used = true
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return answer.response, answer.err
}

// WrappedRoundTripper lets client-go find the transport.
func (t replaying) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// query returns the parameters of the request.
func (p Patch) query() string {
	var all []string
	if p.Manager != "" {
		all = append(all, "fieldManager="+url.QueryEscape(p.Manager))
	}
	if p.Force {
		all = append(all, "force=true")
	}
	if v := p.fieldValidation(); v != "" {
		all = append(all, "fieldValidation="+v)
	}
	return strings.Join(all, "&")
}

// path returns the segments of the URL's path.
func (p Patch) path() ([]string, error) {
	for _, segment := range []string{p.Namespace, p.Name} {
		if why := rest.IsValidPathSegmentName(segment); len(why) > 0 {
			return nil, fmt.Errorf("invalid name %q: %s", segment, strings.Join(why, ", "))
		}
	}
	if p.Name == "" {
		return nil, errors.New("a patch needs the name of an object")
	}
	path := root(p.Kind.GVR)
	if p.Namespace != "" {
		path = append(path, "namespaces", p.Namespace)
	}
	path = append(path, p.Kind.GVR.Resource, p.Name)
	if p.Subresource != "" {
		path = append(path, p.Subresource)
	}
	return path, nil
}

// root returns the path under which a group version is served.
func root(gvr schema.GroupVersionResource) []string {
	if gvr.Group == "" {
		return []string{"api", gvr.Version}
	}
	return []string{"apis", gvr.Group, gvr.Version}
}
