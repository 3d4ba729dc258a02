package main

import (
	"path/filepath"

	"reconcel/bench/report"
	"reconcel/internal/devcluster"
)

// competitor is a program that reconciles Foos.
type competitor struct {
	name   string
	binary string
	args   []string // in addition to --kubeconfig
	// orders tells it what to write, because it reads no events.
	orders bool
	// rules is the file that it reloads; empty if it has none.
	rules string
	// crds is the folder of the CRDs that exist before it starts.
	crds string
	// started is called after its start, and makes it ready for Foos. It may be nil.
	started func(*devcluster.Cluster) error
}

// competitors builds the programs. The folder is for files that they read.
func competitors(folder string, o options) ([]competitor, error) {
	rules := filepath.Join(folder, "rules.yaml")
	crds, events := "crds", "--events=changes"
	if !o.conditions {
		crds, events = filepath.Join(folder, "crds"), "--events=warnings"
		if err := writeBareCRD(crds); err != nil {
			return nil, err
		}
	}
	all := []competitor{
		{name: report.Floor, orders: true},
		{name: report.Baseline},
		{name: report.Applier, args: []string{"--apply"}},
		{name: report.Reconcel, rules: rules, args: []string{
			"run", "--rules=" + rules, events,
			// The others hold no Lease. Every port is as good as another.
			"--leader-elect=false", "--listen=127.0.0.1:0",
		}},
	}
	folders := map[string]string{
		report.Floor:    filepath.Join("bench", "floor"),
		report.Baseline: filepath.Join("bench", "baseline"),
		report.Applier:  filepath.Join("bench", "baseline"),
		report.Reconcel: ".",
	}
	for i := range all {
		c := &all[i]
		c.crds = crds
		var err error
		if c.binary, err = devcluster.Build("bench-"+c.name, folders[c.name]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
