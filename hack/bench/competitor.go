package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"reconcel/hack/bench/process"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// competitor is what reconciles Foos: a program, or several that do it together.
type competitor struct {
	name string
	// helpers start before the program. What they use counts.
	helpers []process.Command
	binary  string
	args    []string // in addition to --kubeconfig
	// orders tells it what to write, because it reads no events.
	orders bool
	// rules is the file that it reloads; empty if it has none.
	rules string
	// crds is the folder of the CRDs that exist before it starts.
	crds string
	// started is called after its start, and makes it ready for Foos. It may be nil.
	started func(*devcluster.Cluster) error
}

// commands returns the processes to start, the program last. They write one log.
func (c competitor) commands(kubeconfig, log string) []process.Command {
	all := slices.Clone(c.helpers)
	all = append(all, process.Command{Binary: c.binary, Args: append(slices.Clone(c.args), "--kubeconfig="+kubeconfig)})
	for i := range all {
		all[i].Log = log
	}
	return all
}

// makers build or find the programs of the competitors. The folder is for files that they read.
var makers = map[string]func(folder string, o options) (competitor, error){
	report.Floor: func(folder string, o options) (competitor, error) {
		return built(folder, o, competitor{name: report.Floor, orders: true}, "hack/bench/floor")
	},
	report.Baseline: func(folder string, o options) (competitor, error) {
		return built(folder, o, competitor{name: report.Baseline}, "hack/bench/baseline")
	},
	report.Applier: func(folder string, o options) (competitor, error) {
		return built(folder, o, competitor{name: report.Applier, args: []string{"--apply"}}, "hack/bench/baseline")
	},
	report.Reconcel:       reconcel,
	report.Kro:            func(folder string, _ options) (competitor, error) { return kro(folder) },
	report.Metacontroller: func(folder string, _ options) (competitor, error) { return metacontroller(folder) },
}

// competitors makes those that the options name, in the order of the tables.
func competitors(folder string, o options) (all []competitor, err error) {
	for _, name := range o.only {
		c, err := makers[name](folder, o)
		if err != nil {
			others := slices.DeleteFunc(slices.Clone(o.only), func(other string) bool { return other == name })
			return nil, fmt.Errorf("%s: %w\nto measure the others, use -only %s", name, err, strings.Join(others, ","))
		}
		all = append(all, c)
	}
	return all, nil
}

// reconcel builds reconcel.
func reconcel(folder string, o options) (competitor, error) {
	rules, events := filepath.Join(folder, "rules.yaml"), "--events=changes"
	if !o.conditions {
		events = "--events=warnings"
	}
	return built(folder, o, competitor{name: report.Reconcel, rules: rules, args: []string{
		"run", "--rules=" + rules, events,
		// The others hold no Lease. Every port is as good as another.
		"--leader-elect=false", "--listen=127.0.0.1:0",
	}}, ".")
}

// built builds the program from a folder of the repository, and chooses the CRD of Foo.
func built(folder string, o options, c competitor, source string) (competitor, error) {
	c.crds = "crds"
	if !o.conditions {
		c.crds = filepath.Join(folder, "crds")
		if err := writeCRD(c.crds, bare); err != nil {
			return competitor{}, err
		}
	}
	var err error
	c.binary, err = devcluster.Build("bench-"+c.name, source)
	return c, err
}
