// Package main is devcluster: a real Kubernetes control plane on loopback, for
// the demo and for tests.
//
// It starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler,
// compiled from Kubernetes' own source, and kwok, which plays the nodes. Nothing
// is downloaded at run time, nothing needs a container runtime or root, and
// nothing is left behind: see janitor.go for how that holds even when this
// process is killed.
//
// This package is the supervisor. It uses the standard library only, so that it
// compiles in a second and can report on the four minutes that the rest takes
// (package controlplane, module kwok).
package main
