package cli

import (
	"cmp"
	"math"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/settings"
	"reconcel/engine/access"
)

// runFlags are the settings of run besides the rules. settings.Resolve completes
// them from the environment and reconcel.yaml.
type runFlags struct {
	policyFlags
	clusterFlags
	rules     ruleFiles
	namespace string
	name      string
	lead      bool
	dryRun    bool
	confirmed []string
	takeOver  []string
	workers   *settings.Value[int]
	qps       *settings.Value[float32]
	burst     *settings.Value[int]
	reapply   *settings.Value[settings.Span]
	deletions *settings.Value[intstr.IntOrString]
	events    *settings.Value[string]
	listen    *settings.Value[string]
	debug     *settings.Value[string]
	pprof     bool
	logLevel  *settings.Value[string]
	logFormat *settings.Value[string]
}

// flags declares the settings. Each flag is also a key of reconcel.yaml and an
// environment variable with a prefix.
func (s *runFlags) flags(flags *pflag.FlagSet) {
	s.workers, s.qps, s.burst = settings.Count(16, 1), settings.Rate(), settings.Count(0, 0)
	s.reapply = settings.Duration(12 * time.Hour)
	s.events = eventFilter()
	s.listen, s.debug = settings.Address(defaultListen()), settings.Loopback()
	s.logLevel, s.logFormat = settings.LogLevel(), settings.Choice("text", "json")

	s.rules.flags(flags)
	s.policyFlags.flags(flags, "watch only these namespaces, and send no cluster-scoped requests; may be repeated "+
		"(default: all)")
	s.clusterFlags.flags(flags)
	flags.StringVarP(&s.namespace, "namespace", "n", "",
		"namespace of reconcel's own objects (default: the Pod's own, the kubeconfig context's, \"default\")")
	flags.StringVar(&s.name, "name", "reconcel", "name of reconcel's own objects; two installations need two names")
	flags.BoolVar(&s.lead, "leader-elect", true,
		"reconcile only while holding the Lease of this name and namespace, and stand by otherwise")
	flags.BoolVar(&s.dryRun, "dry-run", false, "write nothing: log and count what this process would write")
	flags.StringSliceVar(&s.confirmed, "confirm-removal", nil,
		"delete the objects of this removed `rule`, even if this process never had it in its files; may be repeated")
	flags.StringSliceVar(&s.takeOver, "take-over", nil,
		"take over the objects of this stopped `installation` (namespace/name); may be repeated")
	flags.Var(s.workers, "workers", "number of resources that are reconciled at the same time")
	flags.Var(s.qps, "qps", "requests per second to the API server; 0: no limit besides API Priority and Fairness")
	flags.Var(s.burst, "burst", "size of bursts above qps; 0: twice qps")
	flags.Var(s.reapply, "reapply-every", "how often to apply an unchanged child again; 0: never")
	s.deletions = maxDeletions(flags)
	flags.Var(s.events, "events", eventsUsage)
	flags.Var(s.listen, "listen", "address of /metrics, /healthz and /readyz; off: none")
	flags.Var(s.debug, "debug-listen", "loopback address of /debug/rules, which shows the active rules and watches; "+
		"off: none")
	flags.BoolVar(&s.pprof, "pprof", false, "serve profiles at /debug/pprof/ on the address of --debug-listen")
	flags.Var(s.logLevel, "log-level", "lowest level to log")
	flags.Var(s.logFormat, "log-format", "format of the log")
}

// maxDeletions adds the flag that limits the deletions of a changed rule.
func maxDeletions(flags *pflag.FlagSet) *settings.Value[intstr.IntOrString] {
	most := settings.Amount("50%")
	flags.Var(most, "max-deletions",
		"most objects that a changed rule may delete or replace at once: a number, or a percentage of its objects (at "+
			"least 10)")
	return most
}

const eventsUsage = "Events to send: changes leaves out what a condition of the resource says, all leaves out nothing"

func eventFilter() *settings.Value[string] {
	return settings.Choice(string(access.EventsChanges), string(access.EventsAll), string(access.EventsWarnings))
}

// defaultListen is a loopback address outside a Pod. In a Pod it is every address,
// because the kubelet's probes and Prometheus come from outside.
func defaultListen() string {
	if inPod() {
		return ":8080"
	}
	return "127.0.0.1:8080"
}

func inPod() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

// limitRate limits the requests to the API server if --qps is set.
func (s *runFlags) limitRate(config *rest.Config) {
	if qps := s.qps.Value; qps > 0 {
		config.QPS, config.Burst = qps, cmp.Or(s.burst.Value, int(math.Ceil(2*float64(qps))))
	}
}
