// Package crd writes CustomResourceDefinitions as people do: in the usual order of keys, with
// comments, and without losing anything of a file that exists.
//
// A Definition is what differs between kinds: its schemas, and comments by the path of the
// field. The rest follows from it: conditions that reconcel reports in, printer columns, and
// the subresources. Merge adds a definition to the text of a CRD (merge.go), and Breaks says
// what stored objects would not satisfy.
package crd
