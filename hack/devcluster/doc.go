// Package main is devcluster: a real Kubernetes control plane on loopback, for
// the demo and for tests.
//
// It starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler,
// compiled from Kubernetes' own source. It also starts kwok, which simulates the
// nodes. It downloads nothing at run time, and needs neither a container runtime
// nor root. It leaves nothing behind, even if this process is killed (see
// janitor.go).
//
// This package is the supervisor. It uses only the standard library, so that it
// compiles in a second. It can then report on the other binaries, which compile for
// many minutes (modules controlplane and kwok).
//
// The control plane can be of several versions of Kubernetes. They have one source,
// controlplane/main.go, and kubernetes/ has a go.mod for each of them.
package main
