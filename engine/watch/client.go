package watch

import (
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/protobuf"
	"reconcel/engine/wire"
)

// A Client sends the requests for objects of all kinds. It negotiates and limits requests as
// the dynamic client does, which may share it.
type Client struct {
	rest.Interface
	transport http.RoundTripper
	base      url.URL                   // of all requests
	headers   map[headerKey]http.Header // of patches, to be read only
	// limited: requests end after a time of the configuration.
	limited bool
}

// NewClient returns the client of a Watcher and of a Sender.
func NewClient(config *rest.Config) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.NegotiatedSerializer = serializer{config.NegotiatedSerializer}
	config.APIPath = "/" // Each request has an absolute path.
	from, err := httpClient(config)
	if err != nil {
		return nil, err
	}
	c := &Client{transport: from.Transport, headers: map[headerKey]http.Header{}, limited: from.Timeout > 0}
	if c.transport == nil {
		c.transport = http.DefaultTransport
	}
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, &http.Client{Transport: replaying{c.transport}, Timeout: from.Timeout})
	if err != nil {
		return nil, err
	}
	c.Interface, c.base = client, *client.Get().URL()
	for _, t := range []types.PatchType{types.ApplyPatchType, types.MergePatchType, types.JSONPatchType} {
		for _, accept := range protobuf.Formats() {
			c.headers[headerKey{t, accept}] = http.Header{"Accept": {accept}, "Content-Type": {string(t)}, "User-Agent": {config.UserAgent}}
		}
	}
	return c, nil
}

// A headerKey says what a request sends and accepts.
type headerKey struct {
	of     types.PatchType
	accept string
}

// httpClient returns a client with connections of package wire, if the configuration
// allows it.
func httpClient(config *rest.Config) (*http.Client, error) {
	connections, err := wire.New(config)
	if err != nil {
		return nil, err
	}
	if connections == nil {
		return rest.HTTPClientFor(config)
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, connections)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: wrapped, Timeout: config.Timeout}, nil
}
