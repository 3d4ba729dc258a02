package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"math"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// connection returns how to talk to the cluster, and the namespace that
// belongs to it: by --kubeconfig, KUBECONFIG, ~/.kube/config or the Pod's own
// account, in the order in which kubectl looks. Nothing is sent yet.
func connection(s *settings, log *slog.Logger) (*rest.Config, string, error) {
	where := clientcmd.NewDefaultClientConfigLoadingRules()
	where.ExplicitPath = s.kubeconfig
	client := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(where, &clientcmd.ConfigOverrides{CurrentContext: s.context})
	config, err := client.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", failed(errors.New("no cluster: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) and this is not a Pod"))
	case err != nil:
		return nil, "", failed(fmt.Errorf("kubeconfig: %w", err))
	}
	namespace := s.namespace
	if namespace == "" {
		if namespace, _, err = client.Namespace(); err != nil {
			return nil, "", failed(fmt.Errorf("kubeconfig: namespace: %w", err))
		}
	}
	config.UserAgent = "reconcel/" + builtFrom().Version
	config.WarningHandlerWithContext = &warnings{log: log}
	config.QPS, config.Burst = -1, 0 // No limit.
	if s.qps > 0 {
		config.QPS, config.Burst = float32(s.qps), s.burst.n
		if config.Burst == 0 {
			config.Burst = max(1, int(math.Ceil(2*float64(s.qps))))
		}
	}
	return config, namespace, nil
}
