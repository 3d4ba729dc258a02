// Package order is the language in which the driver of the benchmark tells the floor what
// to write: one JSON object in a line of its standard input.
package order

// Order is one write. Exactly one of Replicas and Available is set.
type Order struct {
	// Name of the Foo and of its Deployment, in the namespace "default".
	Name string `json:"name"`
	// UID of the Foo.
	UID string `json:"uid,omitempty"`
	// Replicas asks for an apply of the Deployment with this many replicas.
	Replicas *int32 `json:"replicas,omitempty"`
	// Available asks for a write of this number to the Foo's status.
	Available *int32 `json:"available,omitempty"`
}
