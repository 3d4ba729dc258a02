package engine

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"reconcel/engine/leader"
)

// Options are the settings of an Engine. Config is required; the zero value of
// everything else is a useful one.
type Options struct {
	Config *rest.Config
	Log    *slog.Logger // default: slog.Default()

	// Namespace holds the engine's own objects, which Name names: the
	// inventory is the ConfigMap inventory.Name(Name). Defaults: "default" and
	// "reconcel".
	Namespace string
	Name      string

	// Namespaces are those that are followed; none stands for all. Nothing is
	// asked of the whole cluster then, so that kinds that are in no namespace
	// cannot be followed, and nothing is read or written in other namespaces.
	Namespaces []string

	Leadership *leader.Options // nil: this is the only process

	// Source says where the rules come from. What a removed rule has made is
	// deleted only by a process of the same source as the last one that had the
	// rule: another one has never had it, so that it cannot have been removed there.
	Source string
	// ConfirmRemoval names removed rules whose objects are deleted whatever the source.
	ConfirmRemoval []string
	// TakeOver names installations, each namespace/name, whose objects this one
	// takes over once they have stopped.
	TakeOver []string
	// RemovalGrace is how long the deletion of a removed rule's objects waits
	// after it was announced; default 30 s.
	RemovalGrace time.Duration

	Workers      int           // objects served at a time; default 16
	ReapplyEvery time.Duration // how often a converged child is applied again; 0: never

	Metrics prometheus.Registerer // default: a registry of its own
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Name == "" {
		o.Name = "reconcel"
	}
	if o.RemovalGrace <= 0 {
		o.RemovalGrace = 30 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	return o
}
