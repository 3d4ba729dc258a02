package watch

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient returns the client of a Watcher. It negotiates and limits requests as the dynamic
// client does, which may share it.
func NewClient(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.APIPath = "/" // Each request has an absolute path.
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return rest.UnversionedRESTClientForConfigAndClient(config, transport)
}
