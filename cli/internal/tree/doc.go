// Package tree shows a resource with its children and their children, as the tree command
// prints it.
//
// Children come from the rules or else from the inventories, and from owner references.
// For the rest of the tree it lists every kind that the API server serves, in the namespaces
// in which the resource has objects, because any controller may have made objects for them.
// It only reads. What it may not list is in the tree, so that its absence is not taken for
// the absence of objects.
package tree
