// Package schema holds what is known of kinds: their fields, whether they are
// namespaced, and which subresources they have.
//
// A Set knows Kubernetes' own kinds from a copy of the API server's OpenAPI v3
// that is part of the program, without the descriptions. On top of these come
// the documents of a cluster, and on top of those the CustomResourceDefinitions
// that somebody gives; of two that say something about one kind, the later one
// counts.
//
// Nothing is decoded before somebody asks for it. To know which kinds there are
// takes a few milliseconds, each definition some microseconds more, and both
// once in a process.
//
// # References
//
// A schema refers to others by $ref, as in OpenAPI, and is not expanded: some
// refer to themselves, and one that is shared is worth more than its copies.
// Resolve follows a reference. The schema of a custom kind refers to
// Kubernetes' ObjectMeta, whatever its CRD says about metadata.
//
// Run `make schemas` to take a new copy from the development cluster.
package schema
