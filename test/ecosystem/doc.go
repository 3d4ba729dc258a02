// Package ecosystem checks what reconcel generates with the libraries of those who read
// it: Helm, Prometheus, Argo CD, Flux, kubectl, GitHub and pre-commit. It is a Go module of
// its own, because the controller needs none of them.
package ecosystem
