package main

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"reconcel/hack/bench/process"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// metacontrollerVersion is the release of Metacontroller that is measured.
const metacontrollerVersion = "v4.17.2"

// The files of the release. `go install` cannot bring the program, because the module is not named
// after the address of its repository.
const (
	metacontrollerProgram = "metacontroller"
	metacontrollerCRDs    = "metacontroller-crds-v1.yaml"
)

// metacontrollerFoo has Metacontroller ask a webhook about Foos.
//
//go:embed metacontroller.yaml
var metacontrollerFoo string

// metacontroller returns Metacontroller with a webhook in Go as a competitor. Its own limits are
// lifted, and it has as many workers as the others. It writes Deployments by server-side apply,
// which takes it less CPU than its default, updates.
func metacontroller(folder string) (competitor, error) {
	from := filepath.Join("bin", "metacontroller-"+metacontrollerVersion)
	for _, name := range []string{metacontrollerProgram, metacontrollerCRDs} {
		if _, err := os.Stat(filepath.Join(from, name)); err != nil {
			return competitor{}, fmt.Errorf("%w: put %s of the release there", err, name)
		}
	}
	crds := filepath.Join(folder, "metacontroller-crds")
	if err := writeCRD(crds, generational); err != nil {
		return competitor{}, err
	}
	if err := splitManifests(filepath.Join(from, metacontrollerCRDs), crds); err != nil {
		return competitor{}, err
	}
	webhook, err := devcluster.Build("bench-webhook", "hack/bench/webhook")
	if err != nil {
		return competitor{}, err
	}
	address, err := freeAddress()
	if err != nil {
		return competitor{}, err
	}
	controller := filepath.Join(folder, "metacontroller.yaml")
	text := strings.Replace(metacontrollerFoo, "WEBHOOK", address, 1)
	if err := os.WriteFile(controller, []byte(text), 0o600); err != nil {
		return competitor{}, err
	}
	return competitor{
		name: report.Metacontroller, crds: crds, binary: filepath.Join(from, metacontrollerProgram),
		helpers: []process.Command{{Binary: webhook, Args: []string{"--listen=" + address}}},
		args: []string{
			"--metrics-address=0", "--health-probe-bind-address=0", "--zap-log-level=error",
			"--client-go-qps=-1", "--workers=16", "--apply-strategy=server-side-apply",
			// It needs no kinds but those that exist when it starts, and lists nothing again.
			"--discovery-interval=24h", "--cache-flush-interval=24h",
		},
		started: func(cluster *devcluster.Cluster) error {
			_, err := cluster.Kubectl("apply", "-f", controller)
			return err
		},
	}, nil
}

// splitManifests writes each manifest of a file to a file of its own.
func splitManifests(file, folder string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for i, manifest := range strings.Split(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		path := filepath.Join(folder, fmt.Sprintf("%d-%s", i, filepath.Base(file)))
		if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// freeAddress returns an address on loopback on which nothing listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
