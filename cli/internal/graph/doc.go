// Package graph draws rules as graphs: what each part of a rule reads of others, and what it
// waits for. It writes them for Mermaid and Graphviz.
//
// An arrow points from what is read to its reader, so that a resource is at the top, and
// what rules write into it at the bottom.
package graph
