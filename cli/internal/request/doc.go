// Package request asks a controller to reconcile a resource now, and waits until it has.
//
// The answer is an Event: a resource has no field for it, and its children do not show whether a request is complete.
package request
