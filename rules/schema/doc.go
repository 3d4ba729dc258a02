// Package schema knows kinds: their fields, their scope, and their subresources. Every
// command and the cluster in memory ask it.
//
// A Set has Kubernetes' own kinds from a copy of the API server's OpenAPI v3, which is
// embedded without descriptions. Documents of a cluster override these, and
// CustomResourceDefinitions override both.
//
// Definitions are decoded when they are needed, once in a process. Listing all kinds
// takes a few milliseconds, decoding a definition some microseconds.
//
// # References
//
// Schemas refer to each other by $ref, as in OpenAPI. References are not expanded: some
// schemas refer to themselves. Resolve follows a reference. The schema of a custom kind
// refers to Kubernetes' ObjectMeta, whatever its CRD says about metadata.
//
// # What the API server keeps
//
// Structure prunes and defaults custom resources as the API server does. For built-in
// kinds, the API server does this in Go code, of which package sim has a part. Unknown
// reports unknown fields of all kinds.
//
// # CustomResourceDefinitions
//
// InvalidDefinition validates them as the API server does, for the cluster in memory. Flaws
// finds the same in files, and what the API server accepts although it is a mistake.
//
// Run `make schemas` to take a new copy of the schemas from the development cluster.
package schema
