// Package chart prints the manifests of a Helm chart, rendered by Helm's own library, without a cluster.
package chart
