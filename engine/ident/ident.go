package ident

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Kind is a shorthand for discover.Kind.
type Kind = discover.Kind

// A Request asks for the reconciliation of one primary. It does not say what
// happened to the primary. The UID is part of its identity: a primary that is
// deleted and created again under the same name is another primary. The objects
// of the first are cleaned up independently of the second.
type Request = rules.Owner

// RequestFor returns the request for a primary of a kind.
func RequestFor(kind schema.GroupKind, o *watch.Object) Request {
	return Request{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: rules.UIDOf(kind, o)}
}

// SubjectOf names an object as Kind/namespace/name.
func SubjectOf(k Kind, o *watch.Object) string {
	id := o.Identity(k.GVK)
	return id.String()
}
