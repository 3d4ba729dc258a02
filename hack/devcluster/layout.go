package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Environment variables that replace the cluster or its binaries.
//
// KUBECONFIG is not among them: it is often set to an important cluster, which a
// test run must never use by accident.
const (
	envKubeconfig = "DEVCLUSTER_KUBECONFIG"
	envAssets     = "KUBEBUILDER_ASSETS"
)

// layout locates files relative to the running binary: the compiled binaries are
// next to it, and the sources are in a parent folder.
type layout struct {
	bin   string // the folder of this binary and of kwok
	minor string // of Kubernetes
}

// findLayout returns the layout for a minor of Kubernetes. Binaries from
// KUBEBUILDER_ASSETS have no minor that is known here.
func findLayout(minor string) (layout, error) {
	self, err := os.Executable()
	if err != nil {
		return layout{}, err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return layout{}, err
	}
	return layout{bin: filepath.Dir(self), minor: minor}, nil
}

// controlplane returns the binary of a minor. Each minor has one, so that switching
// compiles nothing.
func (l layout) controlplane() string {
	return filepath.Join(l.bin, "kubernetes-"+l.minor, "controlplane")
}

// kwok returns the binary that all minors share.
func (l layout) kwok() string { return filepath.Join(l.bin, "kwok") }

// compiled reports whether both binaries exist, even if they are outdated: a
// cluster should start at once. `build` checks what is outdated.
func (l layout) compiled() bool {
	return isFile(l.controlplane()) && isFile(l.kwok())
}

// source returns the folder of this module. It searches upwards from the binary,
// then from the working directory.
func (l layout) source() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for _, start := range []string{l.bin, wd} {
		for dir := start; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "hack", "devcluster")} {
				if isFile(filepath.Join(candidate, "controlplane", "main.go")) {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("the sources of devcluster are in no folder above %s or %s", l.bin, wd)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// command is the command line of a component: a binary and its first arguments.
type command []string

// commands finds the binary of every component. It omits binaries that a folder
// from KUBEBUILDER_ASSETS does not contain.
func (l layout) commands() (map[string]command, error) {
	assets := os.Getenv(envAssets)
	if assets == "" {
		found := map[string]command{kwokName: {l.kwok(), "run"}}
		for _, name := range []string{etcdName, apiserverName, controllerManagerName, schedulerName, kubectlName} {
			found[name] = command{l.controlplane(), name}
		}
		return found, nil
	}
	found := map[string]command{}
	for _, name := range []string{etcdName, apiserverName, controllerManagerName, schedulerName, kubectlName} {
		path, err := filepath.Abs(filepath.Join(assets, name))
		if err != nil {
			return nil, err
		}
		if isFile(path) {
			found[name] = command{path}
		}
	}
	if isFile(l.kwok()) {
		found[kwokName] = command{l.kwok(), "run"}
	}
	for _, name := range []string{etcdName, apiserverName} {
		if found[name] == nil {
			return nil, fmt.Errorf("%s=%s: %s: %w", envAssets, assets, name, fs.ErrNotExist)
		}
	}
	return found, nil
}

var errNoKubectl = errors.New("there is no kubectl in the folder that " + envAssets + " names")
