package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // Kubeconfigs name them as auth-provider, and kubectl knows the same.
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/status"
)

// clusterFlags select the cluster, as those of kubectl do.
type clusterFlags struct{ kubeconfig, context string }

func (c *clusterFlags) flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "",
		"kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config, the Pod's own account)")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// connect returns the client configuration, and the namespace of the context. It
// sends no request.
func (c *clusterFlags) connect(
	warnings rest.WarningHandlerWithContext) (config *rest.Config, namespace string, err error) {
	where := clientcmd.NewDefaultClientConfigLoadingRules()
	where.ExplicitPath = c.kubeconfig
	client := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(where,
		&clientcmd.ConfigOverrides{CurrentContext: c.context})
	config, err = client.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		why := "there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) and this is not a Pod"
		if missing := missingFiles(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); len(missing) > 0 {
			why = fmt.Sprintf("KUBECONFIG names %s: no such file, and this is not a Pod", strings.Join(missing, ", "))
		}
		return nil, "", exit.Failure(errors.New("no cluster: " + why))
	}
	if err == nil {
		namespace, _, err = client.Namespace()
	}
	if err != nil {
		return nil, "", exit.Failure(fmt.Errorf("kubeconfig: %w", err))
	}
	config.UserAgent = "reconcel/" + builtFrom().Version
	config.WarningHandlerWithContext = warnings
	config.QPS = -1 // The API server limits requests itself.
	return config, namespace, nil
}

// open connects to the cluster of the kubeconfig, through a transport unless that is nil. It
// sends no request.
func (c *clusterFlags) open(out *printer,
	through transport.WrapperFunc) (live *cluster.Cluster, namespace string, err error) {
	config, namespace, err := c.connect(out.printWarnings())
	if err != nil {
		return nil, "", err
	}
	config.Wrap(through)
	if live, err = cluster.New(config); err != nil {
		return nil, "", exit.Failure(err)
	}
	return live, namespace, nil
}

// sayRules prints to stderr what is wrong with the rules of a cluster. It comes before what a command shows of their
// resources, which may be explained by it.
func (p *printer) sayRules(ctx context.Context, live *cluster.Cluster, home string) {
	if text := status.OfRules(ctx, live, home); text != "" {
		p.say("%s", text)
	}
}

// installationFlag says whose rules a command compares.
type installationFlag struct{ installation string }

func (f *installationFlag) flag(flags *pflag.FlagSet) {
	flags.StringVar(&f.installation, "installation", "",
		"namespace/name of the `installation`, if several have such rules")
}

func (f *installationFlag) check() error {
	if f.installation != "" && strings.Count(f.installation, "/") != 1 {
		return exit.Misused("--installation: %q is not namespace/name", f.installation)
	}
	return nil
}

// showProgress shows the progress of some work, which ends with ctx.
func (p *printer) showProgress(ctx context.Context, work func(*output.Progress) error) error {
	progress := output.StartProgress(p.stderr)
	err := work(progress)
	progress.Stop()
	return interrupted(ctx, err)
}

// namedTarget parses an argument that names one thing.
func namedTarget(text, what string) (cluster.Target, error) {
	target, ok := cluster.ParseTarget(text)
	if !ok || target.Name == "" {
		return target, exit.Misused("%q is not %s: expected KIND/NAME, such as foo/example", text, what)
	}
	return target, nil
}

// anyTarget parses an argument that names a kind or a resource.
func anyTarget(text string) (cluster.Target, error) {
	target, ok := cluster.ParseTarget(text)
	if !ok {
		return target, exit.Misused("%q is neither a kind nor a resource: expected KIND or KIND/NAME, such as foo/example",
			text)
	}
	return target, nil
}

// missingFiles returns which files of a list, such as that of KUBECONFIG, do not exist.
func missingFiles(list string) (missing []string) {
	for _, file := range filepath.SplitList(list) {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, file)
		}
	}
	return missing
}

// scopeFlags select the namespaces of resources.
type scopeFlags struct {
	namespace  string // "": all
	everywhere bool
}

func (s *scopeFlags) flags(flags *pflag.FlagSet) {
	flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace of the resources (default: all)")
	flags.BoolVarP(&s.everywhere, "all-namespaces", "A", false, "resources of all namespaces (the default)")
}

func (s *scopeFlags) check() error {
	if s.everywhere && s.namespace != "" {
		return exit.Misused("-n and -A cannot be used together")
	}
	return nil
}

// warnings print each warning of the API server once.
type warnings struct {
	print    func(ctx context.Context, text string)
	repeated output.Damper
}

func (p *printer) printWarnings() *warnings {
	return &warnings{print: func(_ context.Context, text string) { p.say("Warning: %s", text) }}
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	const miscellaneous = 299 // the only code that Kubernetes uses
	if code == miscellaneous && text != "" && w.repeated.IsDue(text, time.Now()) {
		w.print(ctx, text)
	}
}
