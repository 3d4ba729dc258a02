package cli

import (
	"os"

	"github.com/spf13/pflag"
)

// settings are what run needs to know besides the rules. They are bound to its
// flags; resolve completes them from the environment and reconcel.yaml.
type settings struct {
	policyFlags
	rules      ruleFiles
	kubeconfig string
	context    string
	namespace  string
	name       string
	lead       bool
	confirmed  []string
	takeOver   []string
	workers    count
	qps        rate
	burst      count
	reapply    span
	listen     endpoint
	debug      loopback
	pprof      bool
	logLevel   level
	logFormat  choice
}

// flags declares the settings. Every flag here is also a key of reconcel.yaml
// and, with its prefix, a variable of the environment.
func (s *settings) flags(flags *pflag.FlagSet) {
	s.workers = count{n: 16, min: 1}
	s.logFormat = choice{text: "text", allowed: []string{"text", "json"}}
	_ = s.reapply.Set("12h")
	s.listen = endpoint{defaultListen()}
	s.debug = loopback{off}

	s.rules.flags(flags)
	s.policyFlags.flags(flags, "watch only these namespaces, and send no cluster-scoped requests; may be repeated (default: all)")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config, the Pod's own account)")
	flags.StringVar(&s.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace of reconcel's own objects (default: the Pod's own, the kubeconfig context's, \"default\")")
	flags.StringVar(&s.name, "name", "reconcel", "name of reconcel's own objects; two installations need two names")
	flags.BoolVar(&s.lead, "leader-elect", true, "reconcile only while holding the Lease of this name and namespace, and stand by otherwise")
	flags.StringSliceVar(&s.confirmed, "confirm-removal", nil, "delete the objects of this removed `rule`, even if this process never had it in its files; may be repeated")
	flags.StringSliceVar(&s.takeOver, "take-over", nil, "take over the objects of this stopped `installation` (namespace/name); may be repeated")
	flags.Var(&s.workers, "workers", "number of resources that are reconciled at the same time")
	flags.Var(&s.qps, "qps", "requests per second to the API server; 0: no limit besides API Priority and Fairness")
	flags.Var(&s.burst, "burst", "size of bursts above qps; 0: twice qps")
	flags.Var(&s.reapply, "reapply-every", "how often to apply an unchanged child again; 0: never")
	flags.Var(&s.listen, "listen", "address of /metrics, /healthz and /readyz; off: none")
	flags.Var(&s.debug, "debug-listen", "loopback address of /debug/rules, which shows the active rules and watches; off: none")
	flags.BoolVar(&s.pprof, "pprof", false, "serve profiles at /debug/pprof/ on the address of --debug-listen")
	flags.Var(&s.logLevel, "log-level", "lowest level to log")
	flags.Var(&s.logFormat, "log-format", "format of the log")
}

// defaultListen is loopback on somebody's machine. In a Pod it is every
// address, because the kubelet's probes and Prometheus come from outside.
func defaultListen() string {
	if inPod() {
		return ":8080"
	}
	return "127.0.0.1:8080"
}

func inPod() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }
