// Package timeline plays what happens to resources in a cluster in memory, and tells it step
// by step.
//
//	told, err := timeline.Play(ctx, timeline.Options{Program: program, Kinds: kinds, Given: objects})
//
// The controller is the production engine. The controllers of Kubernetes are played: what has
// a status becomes ready some seconds after it has changed. The same options always give the
// same steps.
package timeline
