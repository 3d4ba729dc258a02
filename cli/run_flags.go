package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/engine/access"
	"reconcel/rules/source"
)

// runFlags are the settings of run besides the rules. settings.Resolve completes
// them from the environment and reconcel.yaml.
type runFlags struct {
	policyFlags
	clusterFlags
	rules        ruleFiles
	rulesObjects bool
	namespace    string
	name         string
	lead         bool
	dryRun       bool
	confirmed    []string
	takeOver     []string
	workers      *settings.Value[int]
	qps          *settings.Value[float32]
	burst        *settings.Value[int]
	reapply      *settings.Value[settings.Span]
	deletions    *settings.Value[intstr.IntOrString]
	events       *settings.Value[string]
	listen       *settings.Value[string]
	debug        *settings.Value[string]
	pprof        bool
	logLevel     *settings.Value[string]
	logFormat    *settings.Value[string]
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
	s.objectsFlag(flags)
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

// objectsFlag adds the flag for rules of the cluster.
func (s *runFlags) objectsFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&s.rulesObjects, "rules-objects", false,
		"follow the Rules objects in the namespace of reconcel's own objects, too; -f is optional then")
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

// newLog returns the log of the process. It includes the warnings and errors that
// the client library logs through klog, but not its other lines.
func newLog(w io.Writer, s *runFlags) *slog.Logger {
	level := settings.Level(s.logLevel)
	log := slog.New(newHandler(w, s, level))
	slog.SetDefault(log)
	client := newHandler(w, s, max(slog.LevelWarn, level))
	klog.SetSlogLogger(slog.New(&damped{client, &output.Damper{Every: repeatEvery}}))
	return log
}

// inLog returns an error of run for conclude to print. Where the log is JSON it logs the error instead: who
// reads that log expects nothing else. What is wrong with the command line is for the person who writes it.
func (c runCommand) inLog(s *runFlags, err error) error {
	code, coded := exit.Code(err)
	if !coded || code == exit.Usage || s.logFormat.Value != "json" || errors.Unwrap(err) == nil {
		return err
	}
	log := newLog(c.out.stderr, s)
	report, ofRules := errors.AsType[source.Errors](err)
	if !ofRules {
		log.Error("run failed", "error", errors.Unwrap(err))
	}
	for _, e := range report.Unwrap() {
		log.Error("rules invalid", "error", e)
	}
	return exit.Silent(code)
}

// newHandler returns a handler for lines from a level on. Several handlers may
// share w, because each writes a line with one call.
func newHandler(w io.Writer, s *runFlags, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutEmpty}
	if s.logFormat.Value == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// withoutEmpty omits keys of positions that are empty.
func withoutEmpty(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case "child", "rule", "trigger", "previous":
		if a.Value.Kind() == slog.KindString && a.Value.String() == "" {
			return slog.Attr{}
		}
	}
	return a
}

// repeatEvery is the interval at which the client library may log the same line.
// Without a limit, it would log each attempt to renew the Lease, twice a second,
// while the API server does not respond.
const repeatEvery = time.Minute

// damped is a handler that drops a line if the same one was logged recently.
type damped struct {
	slog.Handler
	repeated *output.Damper
}

// Handle implements slog.Handler.
func (d *damped) Handle(ctx context.Context, record slog.Record) error {
	line := record.Message
	record.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	if !d.repeated.IsDue(line, record.Time) {
		return nil
	}
	return d.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (d *damped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &damped{d.Handler.WithAttrs(attrs), d.repeated}
}

// WithGroup implements slog.Handler.
func (d *damped) WithGroup(name string) slog.Handler {
	return &damped{d.Handler.WithGroup(name), d.repeated}
}
