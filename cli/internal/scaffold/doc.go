// Package scaffold turns manifests into rules, a CRD, an example resource and tests.
//
// Each object becomes a child. What differs between installations becomes a field of the
// spec or an expression of the resource's metadata:
//
//	clean       drops what the API server sets, and its defaults in live objects
//	naming      finds the name and namespace that the objects share
//	references  names of other objects become references to children
//	fields      images, replicas, resources, hosts and variables become fields of the spec
//	labels      repeated maps of labels become lets
//
// An application knows the manifests. A templater and a fieldSet change its templates, and a
// writer writes the files.
//
// A template is a copy of an object in which some texts are values of the type expression.
// The result renders the example back to the manifests, object for object: verify renders
// it as the render command does, and compares.
package scaffold
