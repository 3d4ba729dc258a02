package watch

import (
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/wire"
)

// NewClient returns the client of a Watcher. It negotiates and limits requests as the dynamic
// client does, which may share it.
func NewClient(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.APIPath = "/" // Each request has an absolute path.
	client, err := httpClient(config)
	if err != nil {
		return nil, err
	}
	return rest.UnversionedRESTClientForConfigAndClient(config, client)
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
