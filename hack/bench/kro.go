package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// kro's module, and the version that is measured.
const (
	kroModule  = "github.com/kubernetes-sigs/kro"
	kroVersion = "v0.9.4"
)

// kroFoo defines Foos for kro.
//
//go:embed kro.yaml
var kroFoo []byte

// kro installs kro, and returns it as a competitor. Its own limits are lifted, and it has as
// many workers as the others.
func kro(folder string) (competitor, error) {
	bin, err := filepath.Abs(filepath.Join("bin", "kro-"+kroVersion))
	if err != nil {
		return competitor{}, err
	}
	install := exec.Command("go", "install", kroModule+"/cmd/controller@"+kroVersion)
	install.Env = append(os.Environ(), "GOBIN="+bin)
	install.Stdout, install.Stderr = os.Stderr, os.Stderr
	if err := install.Run(); err != nil {
		return competitor{}, fmt.Errorf("install kro: %w", err)
	}
	source, err := sourceOf(kroModule + "@" + kroVersion)
	if err != nil {
		return competitor{}, err
	}
	definition := filepath.Join(folder, "kro.yaml")
	if err := os.WriteFile(definition, kroFoo, 0o600); err != nil {
		return competitor{}, err
	}
	return competitor{
		name: report.Kro, binary: filepath.Join(bin, "controller"), crds: filepath.Join(source, "helm", "crds"),
		args: []string{
			"--metrics-bind-address=0", "--health-probe-bind-address=0", "--zap-devel=false", "--client-qps=100000",
			"--client-burst=100000",
			"--dynamic-controller-concurrent-reconciles=16",
			"--dynamic-controller-rate-limiter-rate-limit=100000", "--dynamic-controller-rate-limiter-burst-limit=100000",
		},
		started: func(cluster *devcluster.Cluster) error {
			if _, err := cluster.Kubectl("apply", "-f", definition); err != nil {
				return err
			}
			_, err := cluster.Kubectl("wait", "--for=condition=Ready", "--timeout=2m", "resourcegraphdefinition/foo")
			return err
		},
	}, nil
}

// sourceOf returns the folder with the source of a version of a module.
func sourceOf(module string) (string, error) {
	answer, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(answer, &found); err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return found.Dir, nil
}
