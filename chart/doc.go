// Reconcel-chart prints the manifests of a Helm chart, rendered by Helm's own library, without a
// cluster. reconcel init --chart starts it.
//
// It is a program of its own, in a Go module of its own, because Helm's library would add
// modules to the controller that it does not need.
package main
